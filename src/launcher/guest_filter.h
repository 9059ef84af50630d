// GuestFilter: the nf_tables rules of a sandbox with a way out, as one netlink batch.
#pragma once
#include <string>

namespace cay::launcher {

// guest_filter.nft shows the rules as nft(8) does.
//
// `in` is there because every address is local. Without it a nested namespace's datagram to any
// address would reach whatever server of the sandbox listens on that port.
//
// `untracked` and `bound` are there because redirecting needs connection tracking. Its entries are
// kernel memory that no group pays for.
std::string guest_filter();

}  // namespace cay::launcher
