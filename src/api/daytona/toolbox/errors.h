// The statuses and codes of the toolbox's errors (protocol reference, section 3).
#pragma once
#include <string>
#include <utility>

#include "api/daytona/errors.h"

namespace cay::api::daytona {

// A word of the vendor's that chooses the class of an exception. It travels as Error::reason.
struct VendorCode {
  const char* word;
  Code code;
  int status;
};

inline constexpr VendorCode kBadRequest{"BAD_REQUEST", Code::kInvalidArgument, 400};
inline constexpr VendorCode kInvalidBody{"INVALID_REQUEST_BODY", Code::kInvalidArgument, 400};
inline constexpr VendorCode kUnauthorized{"UNAUTHORIZED", Code::kUnauthenticated, 401};
inline constexpr VendorCode kForbidden{"FORBIDDEN", Code::kPermissionDenied, 403};
inline constexpr VendorCode kFileNotFound{"FILE_NOT_FOUND", Code::kNotFound, 404};
inline constexpr VendorCode kFileAccessDenied{"FILE_ACCESS_DENIED", Code::kPermissionDenied, 403};
inline constexpr VendorCode kInvalidFilePath{"INVALID_FILE_PATH", Code::kInvalidArgument, 400};
inline constexpr VendorCode kExecutionTimeout{"PROCESS_EXECUTION_TIMEOUT", Code::kDeadlineExceeded,
                                              408};
inline constexpr VendorCode kProcessNotFound{"PROCESS_NOT_FOUND", Code::kNotFound, 404};
inline constexpr VendorCode kConflict{"CONFLICT", Code::kAlreadyExists, 409};
inline constexpr VendorCode kSessionEnded{"SESSION_ENDED", Code::kNotReady, 410};
inline constexpr VendorCode kCommandCompleted{"COMMAND_ALREADY_COMPLETED", Code::kNotReady, 410};
inline constexpr VendorCode kGone{"GONE", Code::kNotReady, 410};
// Words of Cay's own. Clients choose the class by the status, and show the word as the error's
// code.
inline constexpr VendorCode kSandboxStopped{"SANDBOX_STOPPED", Code::kNotReady, 410};
inline constexpr VendorCode kOutputDropped{"OUTPUT_DROPPED", Code::kNotReady, 410};
inline constexpr VendorCode kNeverRan{"COMMAND_NEVER_RAN", Code::kNotReady, 410};
inline constexpr VendorCode kCommandLost{"INFRASTRUCTURE_FAILURE", Code::kLost, 500};
inline constexpr VendorCode kUnprocessable{"UNPROCESSABLE_ENTITY", Code::kUnsupported, 422};
inline constexpr VendorCode kNotInitialized{"LSP_SERVER_NOT_INITIALIZED", Code::kInvalidArgument,
                                            400};
inline constexpr VendorCode kGitAuthFailed{"GIT_AUTH_FAILED", Code::kUnauthenticated, 401};
inline constexpr VendorCode kGitRepoNotFound{"GIT_REPO_NOT_FOUND", Code::kNotFound, 404};
inline constexpr VendorCode kGitBranchNotFound{"GIT_BRANCH_NOT_FOUND", Code::kNotFound, 404};
inline constexpr VendorCode kGitBranchExists{"GIT_BRANCH_EXISTS", Code::kAlreadyExists, 409};
inline constexpr VendorCode kGitPushRejected{"GIT_PUSH_REJECTED", Code::kConflict, 409};
inline constexpr VendorCode kGitDirtyWorktree{"GIT_DIRTY_WORKTREE", Code::kConflict, 409};
inline constexpr VendorCode kGitMergeConflict{"GIT_MERGE_CONFLICT", Code::kConflict, 409};
inline constexpr VendorCode kGitRemoteRejected{"GIT_REMOTE_REJECTED", Code::kConflict, 422};
inline constexpr VendorCode kGitTransportFailed{"GIT_TRANSPORT_FAILED", Code::kNotReady, 502};
inline constexpr VendorCode kA11yUnavailable{"A11Y_UNAVAILABLE", Code::kUnsupported, 503};
inline constexpr VendorCode kNoFfmpeg{"RECORDING_FFMPEG_NOT_FOUND", Code::kUnsupported, 503};
inline constexpr VendorCode kNoComputerUse{"COMPUTER_USE_UNAVAILABLE", Code::kUnsupported, 503};

// An error that reaches the client with this word and its status.
inline Error vendor_error(const VendorCode& word, std::string message) {
  return {word.code, word.word, std::move(message), 0};
}

Refusal toolbox_refusal(const Error& error);

}  // namespace cay::api::daytona
