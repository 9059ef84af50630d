// An archive of a sandbox's files names each file that it leaves out by one more entry of the root.
// That entry has this extended attribute, whose value is a path relative to the root.
#pragma once

namespace cay::codec {

inline constexpr const char* kLeftOutAttribute = "user.cay.left_out";

}  // namespace cay::codec
