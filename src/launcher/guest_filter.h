// GuestFilter: the nf_tables rules of a sandbox with a way out, as one netlink batch.
#pragma once
#include <string>

namespace cay::launcher {

// As nft(8) would show it, {V4}, {V6} the sandbox's own addresses and P the gate's port:
//
//   table inet cay {
//     chain redirect {
//       ip daddr != 127.0.0.0/8 ip daddr != {V4} meta l4proto tcp dnat ip to {V4}:P
//       ip daddr != 127.0.0.0/8 ip daddr != {V4} udp dport 53     dnat ip to {V4}:P
//       ip6 daddr != ::1 ip6 daddr != {V6}       meta l4proto tcp dnat ip6 to [{V6}]:P
//       ip6 daddr != ::1 ip6 daddr != {V6}       udp dport 53     dnat ip6 to [{V6}]:P
//     }
//     chain untracked {
//       type filter hook output priority -300;
//       oif != lo accept                                                         # network
//       namespaces made inside th sport P accept; th dport P accept # the gate meta l4proto icmp
//       accept; meta l4proto icmpv6 accept ip daddr 127.0.0.0/8 notrack; ip daddr {V4} notrack; ip6
//       daddr ::1 notrack; ip6 daddr {V6} notrack udp dport != 53 notrack
//     }
//     chain bound   { ct status & confirmed == 0 limit rate over 256/second burst 4096 packets drop
//     } chain in_new  { type filter hook prerouting priority 0; jump bound } chain out_nat { type
//     nat hook output priority -100;     jump redirect } chain in_nat  { type nat hook prerouting
//     priority -100; jump redirect }    # network namespaces made inside chain out {
//       type filter hook output priority 0;
//       jump bound
//       oif != lo accept                                                         # to such a
//       namespace ip daddr 127.0.0.0/8 accept; ip daddr {V4} accept; ip6 daddr ::1 accept; ip6
//       daddr {V6} accept reject with icmpx admin-prohibited
//     }
//     chain in {
//       type filter hook input priority 0;
//       iif lo accept
//       ip daddr {V4} accept; ip daddr 10.0.0.0/8 accept; ip daddr 172.16.0.0/12 accept; ip daddr
//       192.168.0.0/16 accept ip6 daddr >= fc00:: accept reject with icmpx admin-prohibited
//     }
//   }
//
// `in` is there because every address is local. Without it a nested namespace's datagram to any
// address would reach whatever server of the sandbox listens on that port.
//
// `untracked` and `bound` are there because redirecting needs connection tracking. Its entries are
// kernel memory that no group pays for.
std::string guest_filter();

}  // namespace cay::launcher
