// Dockerfile: the text of a build as stages and instructions. Variables in it are not expanded yet
// (expand.h, plan.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cay::dockerfile {

inline constexpr std::size_t kMostBytes = std::size_t{1} << 20U;  // of a Dockerfile
inline constexpr std::size_t kMostInstructions = 2000;

// The lines that follow an instruction with `<<NAME`.
struct Heredoc {
  std::string name;
  std::string content;       // with all its line endings
  bool expands = true;       // its delimiter has no quotes
  bool strips_tabs = false;  // `<<-NAME`
  bool operator==(const Heredoc&) const = default;
};

// Returns the content, without the tabs that `<<-` removes.
std::string text_of(const Heredoc& from);

// The shell form has one word, the whole line. The exec form has the arguments.
struct CommandLine {
  bool shell = true;
  std::vector<std::string> words;
  bool operator==(const CommandLine&) const = default;
};

enum class MountType : std::uint8_t { kBind, kCache, kTmpfs, kSecret };
enum class Sharing : std::uint8_t { kShared, kPrivate, kLocked };

// RUN --mount=…
struct Mount {
  MountType type = MountType::kBind;
  std::string target;
  std::string source{};  // bind, cache: a path in `from`; empty: its root
  std::string
      from{};         // bind, cache: a stage or an image; empty: the context, or an empty directory
  std::string id{};   // cache, secret: its name
  std::string env{};  // secret: the variable that gets it
  bool read_only = false;
  bool required = false;  // secret: the build fails without it
  Sharing sharing = Sharing::kShared;
  std::optional<std::uint32_t> uid{}, gid{}, mode{};
  std::uint64_t size = 0;  // tmpfs, in bytes; 0: no limit of its own
  bool operator==(const Mount&) const = default;
};

struct Run {
  CommandLine command;
  std::vector<Heredoc> heredocs{};
  std::vector<Mount> mounts{};
};
// COPY, and ADD, which unpacks archives of the context.
struct Copy {
  bool add = false;
  std::vector<std::string> sources{};
  std::vector<Heredoc> files{};  // here-documents that are sources
  std::string target{};
  std::string from{};  // a stage by name or number, or an image; empty: the context
  std::string chown{}, chmod{};
  bool link = false;
};
struct Assignment {
  std::string name;
  std::string value;
  bool operator==(const Assignment&) const = default;
};
struct Env {
  std::vector<Assignment> set;
};
struct Label {
  std::vector<Assignment> set;
};
struct Argument {
  std::string name;
  std::optional<std::string> value;  // its default
  bool operator==(const Argument&) const = default;
};
struct Arg {
  std::vector<Argument> arguments;
};
struct Workdir {
  std::string path;
};
struct User {
  std::string name;
};
struct Shell {
  std::vector<std::string> words;
};
struct Expose {
  std::vector<std::string> ports;
};
struct Cmd {
  CommandLine command;
};
struct Entrypoint {
  CommandLine command;
};
// HEALTHCHECK, VOLUME, STOPSIGNAL, MAINTAINER. Dockerfile::notes has the reason.
struct Ignored {
  std::string keyword;
};
using Meaning = std::variant<Run, Copy, Env, Label, Arg, Workdir, User, Shell, Expose, Cmd,
                             Entrypoint, Ignored>;

struct Instruction {
  int line = 0;      // its first, from 1
  std::string text;  // continued lines as one
  Meaning meaning;
};

struct Stage {
  int line = 0;
  std::string name;      // in lower case; empty: none
  std::string image;     // a stage, an image or "scratch"
  std::string platform;  // empty: the builder's
  std::vector<Instruction> instructions{};
};

struct Dockerfile {
  char escape = '\\';
  std::vector<Instruction> arguments{};  // the ARGs before the first FROM
  std::vector<Stage> stages{};           // at least one
  std::vector<std::string> notes{};      // what the user should know: "line 7: …"
};

// Reads a Dockerfile. Fails with kInvalidArgument (invalid_dockerfile) and with kUnsupported
// (dockerfile_unsupported). Both messages begin with the line: "line 7: …".
Result<Dockerfile> parse(std::string_view text);

}  // namespace cay::dockerfile
