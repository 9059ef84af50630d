#include "code/request.h"

#include <algorithm>

#include "base/ascii.h"
#include "code/language.h"

namespace cay::code {
namespace {

constexpr std::size_t kLongestLibrary = 200;

// An option or a path of the sandbox would make the manager do something else.
bool names_library(std::string_view name) {
  constexpr std::string_view kSigns = "._@/+=<>!~,:[]^*-";
  if (name.empty() || name.size() > kLongestLibrary || name.front() == '-') return false;
  return std::ranges::all_of(name, [kSigns](char c) {
    return is_letter(c) || is_digit(c) || kSigns.find(c) != std::string_view::npos;
  });
}

Error wrong(const std::string& message) {
  return {Code::kInvalidArgument, "invalid_field", message, 0};
}

}  // namespace

Result<void> check(const RunRequest& request) {
  const Language* language = find_language(request.language);
  if (language == nullptr)
    return Error{Code::kInvalidArgument, "unknown_language",
                 "there is no language '" + request.language + "': give one of " + language_names(),
                 0};
  if (request.code.empty()) return wrong("code: is needed");
  if (request.code.size() > kMaxCode) return wrong("code: is larger than 8 MiB");
  if (request.stdin_bytes.size() > kMaxStdin) return wrong("stdin: is larger than 16 MiB");
  if (request.libraries.size() > kMaxLibraries) return wrong("libraries: has more than 50 items");
  if (request.timeout_ms <= 0 || request.timeout_ms > kLongestRun)
    return wrong("timeout_s: must be more than 0 and at most 86400");
  if (!request.libraries.empty() && language->install.empty())
    return Error{Code::kInvalidArgument, "libraries_unsupported",
                 std::string(language->without_libraries), 0};
  for (const std::string& library : request.libraries) {
    if (!names_library(library))
      return wrong("libraries: '" + library +
                   "' is no name of a library, with or without a "
                   "version");
  }
  return {};
}

}  // namespace cay::code
