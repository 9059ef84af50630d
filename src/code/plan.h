// A Plan lists the steps of a run in its sandbox, in order: check and prepare, write files,
// install, compile, run. It is data. core/code_runs executes it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "code/language.h"
#include "code/request.h"
#include "model/command.h"

namespace cay::code {

enum class Phase : std::uint8_t { kInstall = 1, kCompile = 2, kRun = 3 };
std::string_view to_string(Phase phase);

struct PlannedFile {
  std::string path;  // relative to the directory of the run
  std::string bytes;
};

struct Plan {
  const Language* language = nullptr;
  std::string directory;  // of this run alone, absolute; mode 0700
  std::string output;     // where the program puts its artifacts: $CAY_OUTPUT_DIR
  CommandSpec prepare;    // makes the directories; what it prints is for read_preparation()
  std::vector<PlannedFile> files;
  std::optional<CommandSpec> install;
  std::optional<CommandSpec> compile;
  CommandSpec run;
};

// `id` is a UUID of this run. Fails as check() of request.h does.
Result<Plan> plan(const RunRequest& request, const std::string& id);

// The words that `prepare` printed. They come from inside: a program that the language does not
// need is no word.
struct Preparation {
  std::vector<std::string> missing;  // programs
  bool installed = false;            // all libraries, by an earlier run
};
Preparation read_preparation(const Language& language, std::string_view printed);

// Fails kInvalidArgument toolchain_missing, with the packages and the image that have `missing`.
Error toolchain_missing(const Language& language, const std::vector<std::string>& missing);

}  // namespace cay::code
