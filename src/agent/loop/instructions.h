// Instructions: the part of a system prompt that comes from files in the sandbox, which are skills
// (SKILL.md, Agent Skills format) and memory (AGENTS.md).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/loop/harness.h"

namespace cay::agent {

struct Skill {
  std::string name;
  std::string description;
  std::string path;  // of SKILL.md
};

// Reads the front matter of a SKILL.md. The name is that of its directory and has at most 64
// characters, the description at most 1,024. nullopt: it does not follow that.
std::optional<Skill> skill_of(std::string_view text, const std::string& directory,
                              std::string path);

// Without HTML comments.
std::string without_comments(std::string_view text);

// Reads the files, and returns the text for the system prompt. Missing files are left out.
Task<std::string> read_instructions(Harness* harness, std::vector<std::string> skills,
                                    std::vector<std::string> memory);

}  // namespace cay::agent
