#include "api/daytona/toolbox/errors.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cay::api::daytona {
namespace {

constexpr std::array kWords{
    kBadRequest,        kInvalidBody,       kUnauthorized,       kForbidden,
    kFileNotFound,      kFileAccessDenied,  kExecutionTimeout,   kProcessNotFound,
    kConflict,          kSessionEnded,      kCommandCompleted,   kGone,
    kUnprocessable,     kNotInitialized,    kGitAuthFailed,      kGitRepoNotFound,
    kGitBranchNotFound, kGitBranchExists,   kGitPushRejected,    kGitDirtyWorktree,
    kGitMergeConflict,  kGitRemoteRejected, kGitTransportFailed, kInvalidFilePath,
    kA11yUnavailable,   kNoFfmpeg,          kNoComputerUse,      kSandboxStopped,
    kOutputDropped,     kNeverRan,          kCommandLost};

// Cay's own reasons that clients know by a word of the vendor's.
constexpr std::array<std::pair<std::string_view, VendorCode>, 17> kReasons{
    {{"command_lost", kCommandLost},
     {"code_lost", kCommandLost},
     {"keeper_lost", kCommandLost},
     {"spool_damaged", kCommandLost},
     {"file_not_found", kFileNotFound},
     {"permission_denied", kFileAccessDenied},
     {"read_only", kFileAccessDenied},
     {"is_a_directory", kInvalidFilePath},
     {"not_a_directory", kInvalidFilePath},
     {"not_a_regular_file", kInvalidFilePath},
     {"bad_path", kInvalidFilePath},
     {"symlink_loop", kInvalidFilePath},
     {"malformed_json", kInvalidBody},
     {"invalid_field", kInvalidBody},
     {"invalid_env", kBadRequest},
     {"toolchain_missing", kUnprocessable},
     {"upgrade_needed", kBadRequest}}};

}  // namespace

Refusal toolbox_refusal(const Error& error) {
  for (const VendorCode& one : kWords) {
    if (error.reason == one.word) return {one.status, one.word};
  }
  for (const auto& [reason, word] : kReasons) {
    if (error.reason == reason) return {word.status, word.word};
  }
  return api_refusal(error);
}

}  // namespace cay::api::daytona
