// RunRequest: a program to run in a sandbox, as a caller gives it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/run_config.h"

namespace cay::code {

inline constexpr std::size_t kMaxCode = 8 << 20;
inline constexpr std::size_t kMaxStdin = 16 << 20;
inline constexpr std::size_t kMaxLibraries = 50;
inline constexpr std::int64_t kLongestRun = std::int64_t{24} * 3600 * 1000;
// The limit of an installation, and of a compiler.
inline constexpr std::int64_t kLongestPreparation = 300'000;

struct RunRequest {
  std::string language;  // a name or an alias (language.h)
  std::string code;
  std::string stdin_bytes{};
  std::vector<std::string> args{};
  std::vector<std::string> libraries{};      // as the language's own manager names them
  RunConfig run{};                           // of the program. The user is that of all phases
  std::int64_t timeout_ms = 60'000;          // of the program alone
  std::uint64_t max_output_bytes = 1 << 20;  // of each stream, in the result
  CommandId command_id{};                    // of the program, so that it can be followed
};

// Fails kInvalidArgument: unknown_language, libraries_unsupported, invalid_field.
Result<void> check(const RunRequest& request);

}  // namespace cay::code
