// The words that a keeper's HELLO lists to name what it can do. A daemon checks Hello::has() before
// it relies on a feature: a sandbox that an earlier daemon started has an older keeper.
//
// Words are for ever: add, never reuse. Keepers older than this list send none.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace cay::wire::keeper_feature {

// FileOp::exclusive and the members after it, FileVerb::kChmod to kReplace
inline constexpr std::string_view kFileChanges = "file-changes";
inline constexpr std::string_view kFileWatch = "file-watch";  // FileVerb::kWatch

inline constexpr std::string_view kOneFile = "one-file";  // FileOp::once, FileOp::one_file

// An attach on the channel after that of a start with reader_follows shares the start's failure
inline constexpr std::string_view kAttachBehindStart = "attach-behind-start";

inline constexpr std::string_view kBulk = "bulk";  // Type::kBulk, where sockets can be passed

// The first kUploadAhead bytes of a FileVerb::kWrite may be sent before the keeper gives credit
inline constexpr std::string_view kWriteAhead = "write-ahead";

// All words of this release's keeper.
inline constexpr std::array kAll = {kFileChanges,       kFileWatch, kOneFile,
                                    kAttachBehindStart, kBulk,      kWriteAhead};

}  // namespace cay::wire::keeper_feature

namespace cay::wire {

inline constexpr std::uint64_t kUploadAhead = 16 * 1024;

}  // namespace cay::wire
