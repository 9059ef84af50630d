// The drivers of contexts: the program of each language, the mark of a context's command, and the
// line that requests an evaluation. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/context.h"

namespace cay::code {

struct Driver {
  std::string_view language;
  std::string_view program;  // that the sandbox must have
  std::string_view package;  // Debian's, which has it
  std::vector<std::string> argv;
  // Its calls have an exit code, input and a time limit.
  bool is_shell = false;
  // A call may ask for a process that is forked off it.
  bool can_fork = false;
};

// By its name or an alias. nullptr: contexts have no such language.
const Driver* driver_of(std::string_view language);
// The languages of contexts, for messages: "python, javascript, bash".
std::string driver_languages();

// The content of a driver's Command::mark. It is the only record of a context.
struct ContextMark {
  std::string id;
  std::uint32_t generation = 1;
  std::string language;
  std::map<std::string, std::string> env{};  // the context's own variables, for a restart
};
// The most bytes of `env` in a mark. Each list of a sandbox's commands has all marks.
inline constexpr std::size_t kMostContextEnv = 16 << 10;
std::size_t env_size(const std::map<std::string, std::string>& env);
std::string to_mark(const ContextMark& mark);
// nullopt: the command is no driver.
std::optional<ContextMark> from_mark(std::string_view mark);

// Whether `text` may be the id of a context or of an evaluation.
bool is_valid_context_id(std::string_view text);

// Differs for two requests with one id and other code.
std::string tag_of(const EvaluationSpec& spec);
// The request as the driver of `language` reads it. It begins with a line end, so that a part of an
// earlier request that was cut off spoils nothing.
std::string request_line(std::string_view language, const EvaluationSpec& spec);

}  // namespace cay::code
