// The reason why a sandbox goes without a request, for its row and its events from then on. An
// obstacle to the removal stands behind it in the row. The last event has the reason alone.
#pragma once
#include <string>
#include <string_view>

namespace cay::core {

inline constexpr std::string_view kRemovedByLifetime = "lifetime";  // lifetime_s was over
inline constexpr std::string_view kRemovedAfterStop =
    "delete_after_stop";  // delete_after_stop_s was over
inline constexpr std::string_view kRemovedNeverCameUp =
    "never came up";  // the daemon ended in its creation, and nothing of it lives

// Returns the reason of a row that is kDeleting: one of those above, or empty if it was requested.
std::string_view why_removed(std::string_view reason);
// The reason of one that is still there, because of `trouble`.
std::string removal_held_up(std::string_view why, std::string_view trouble);

}  // namespace cay::core
