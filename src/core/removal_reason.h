// Why a sandbox goes that nobody asked to delete: the reason of its row and of its events from then on. What holds a removal up
// stands behind it in the row, and is gone again before the last event: that one tells why, not what was in the way.
#pragma once
#include <string>
#include <string_view>

namespace cay::core {

inline constexpr std::string_view kRemovedByLifetime = "lifetime";             // lifetime_s was over
inline constexpr std::string_view kRemovedAfterStop = "delete_after_stop";     // delete_after_stop_s was over
inline constexpr std::string_view kRemovedNeverCameUp = "never came up";       // the daemon ended in its creation, and nothing of it lives

// Of the reason of a row that is kDeleting: one of those above; empty: it was asked for.
std::string_view why_removed(std::string_view reason);
// The reason of one that is still there, because of `trouble`.
std::string removal_held_up(std::string_view why, std::string_view trouble);

}  // namespace cay::core
