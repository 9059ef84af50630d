#include "launcher/guest_filter.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#include <cstdint>
#include <string_view>

#include "base/ip_address.h"
#include "launcher/filter_rule.h"
#include "os/netlink.h"
#include "wire/guest_network.h"

namespace cay::launcher {
namespace {

constexpr const char* kRedirect = "redirect";
constexpr const char* kUntracked = "untracked";
constexpr const char* kBound = "bound";
constexpr int kBeforeTracking = -300;  // NF_IP_PRI_RAW
constexpr int kNatPriority = -100;     // NF_IP_PRI_NAT_DST, where dnat belongs

constexpr std::uint16_t kDnsPort = 53;
constexpr std::uint8_t kRedirected[] = {IPPROTO_TCP, IPPROTO_UDP};

// More than the gate takes of one sandbox (gate/door.h). An entry is about 400 bytes with its
// address translation. One without an open connection lives for a minute at most
// (tracking_limits.h). That makes 19,456 entries, which is less than 8 MiB.
constexpr std::uint64_t kEntriesPerSecond = 256;
constexpr std::uint32_t kEntriesAtOnce = 4096;

std::string raw(const char* address) {
  const IpAddress ip = IpAddress::parse(address).value_or(IpAddress());
  const auto* at = ip.is_v4() ? ip.v4_bytes().data() : ip.bytes().data();
  return {reinterpret_cast<const char*>(at), ip.is_v4() ? 4U : 16U};
}

void add_chain(os::NetlinkBatch& batch, const char* name) {
  batch.message(filter_message(NFT_MSG_NEWCHAIN), NLM_F_CREATE,
                nfgenmsg{NFPROTO_INET, NFNETLINK_V0, 0});
  batch.text(NFTA_CHAIN_TABLE, kFilterTable);
  batch.text(NFTA_CHAIN_NAME, name);
}

void add_base_chain(os::NetlinkBatch& batch, const char* name, const char* type, std::uint32_t hook,
                    int priority) {
  add_chain(batch, name);
  batch.open(NFTA_CHAIN_HOOK);
  batch.big32(NFTA_HOOK_HOOKNUM, hook);
  batch.big32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(priority));
  batch.close();
  batch.text(NFTA_CHAIN_TYPE, type);
}

void add_redirect(os::NetlinkBatch& batch) {
  const std::string v4 = raw(wire::kGuestV4);
  const std::string v6 = raw(wire::kGuestV6);
  const std::string loopback = raw("::1");
  for (const std::uint8_t protocol : kRedirected) {
    FilterRule rule(batch, kRedirect);
    rule.family(NFPROTO_IPV4).protocol(protocol);
    if (protocol == IPPROTO_UDP) rule.destination_port(NFT_CMP_EQ, kDnsPort);
    rule.to_v4(NFT_CMP_NEQ, "\x7f").to_v4(NFT_CMP_NEQ, v4).dnat(NFPROTO_IPV4, v4, wire::kGatePort);
  }
  for (const std::uint8_t protocol : kRedirected) {
    FilterRule rule(batch, kRedirect);
    rule.family(NFPROTO_IPV6).protocol(protocol);
    if (protocol == IPPROTO_UDP) rule.destination_port(NFT_CMP_EQ, kDnsPort);
    rule.to_v6(NFT_CMP_NEQ, loopback)
        .to_v6(NFT_CMP_NEQ, v6)
        .dnat(NFPROTO_IPV6, v6, wire::kGatePort);
  }
}

// A packet that is not redirected needs no entry. An entry of a redirected one serves both ways:
// the gate's answers, which come from its own port, keep theirs. Errors of ICMP belong to an
// existing entry.
void add_untracked(os::NetlinkBatch& batch) {
  FilterRule(batch, kUntracked).out_link(NFT_CMP_NEQ).accept();
  FilterRule(batch, kUntracked).source_port(wire::kGatePort).accept();
  FilterRule(batch, kUntracked).destination_port(NFT_CMP_EQ, wire::kGatePort).accept();
  FilterRule(batch, kUntracked).protocol(IPPROTO_ICMP).accept();
  FilterRule(batch, kUntracked).protocol(IPPROTO_ICMPV6).accept();
  FilterRule(batch, kUntracked).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, "\x7f").leave_untracked();
  FilterRule(batch, kUntracked)
      .family(NFPROTO_IPV4)
      .to_v4(NFT_CMP_EQ, raw(wire::kGuestV4))
      .leave_untracked();
  FilterRule(batch, kUntracked)
      .family(NFPROTO_IPV6)
      .to_v6(NFT_CMP_EQ, raw("::1"))
      .leave_untracked();
  FilterRule(batch, kUntracked)
      .family(NFPROTO_IPV6)
      .to_v6(NFT_CMP_EQ, raw(wire::kGuestV6))
      .leave_untracked();
  FilterRule(batch, kUntracked)
      .protocol(IPPROTO_UDP)
      .destination_port(NFT_CMP_NEQ, kDnsPort)
      .leave_untracked();  // `out` rejects it
}

void add_out(os::NetlinkBatch& batch, const char* chain) {
  FilterRule(batch, chain).jump(kBound);
  FilterRule(batch, chain).out_link(NFT_CMP_NEQ).accept();
  FilterRule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, "\x7f").accept();
  FilterRule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, raw(wire::kGuestV4)).accept();
  FilterRule(batch, chain).family(NFPROTO_IPV6).to_v6(NFT_CMP_EQ, raw("::1")).accept();
  FilterRule(batch, chain).family(NFPROTO_IPV6).to_v6(NFT_CMP_EQ, raw(wire::kGuestV6)).accept();
  FilterRule(batch, chain).reject();
}

void add_in(os::NetlinkBatch& batch, const char* chain) {
  FilterRule(batch, chain).in_link(NFT_CMP_EQ).accept();
  FilterRule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, raw(wire::kGuestV4)).accept();
  FilterRule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, "\x0a").accept();
  FilterRule(batch, chain)
      .family(NFPROTO_IPV4)
      .to_v4(NFT_CMP_GTE, "\xac\x10")
      .to_v4(NFT_CMP_LTE, "\xac\x1f")
      .accept();
  FilterRule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, "\xc0\xa8").accept();
  FilterRule(batch, chain).family(NFPROTO_IPV6).to_v6(NFT_CMP_GTE, "\xfc").accept();
  FilterRule(batch, chain).reject();
}

}  // namespace

std::string guest_filter() {
  os::NetlinkBatch batch;
  batch.message(NFNL_MSG_BATCH_BEGIN, 0,
                nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)});
  batch.message(filter_message(NFT_MSG_NEWTABLE), NLM_F_CREATE,
                nfgenmsg{NFPROTO_INET, NFNETLINK_V0, 0});
  batch.text(NFTA_TABLE_NAME, kFilterTable);
  add_chain(batch, kRedirect);
  add_chain(batch, kBound);
  add_base_chain(batch, kUntracked, "filter", NF_INET_LOCAL_OUT, kBeforeTracking);
  add_base_chain(batch, "out_nat", "nat", NF_INET_LOCAL_OUT, kNatPriority);
  add_base_chain(batch, "in_nat", "nat", NF_INET_PRE_ROUTING, kNatPriority);
  add_base_chain(batch, "in_new", "filter", NF_INET_PRE_ROUTING, 0);
  add_base_chain(batch, "out", "filter", NF_INET_LOCAL_OUT, 0);
  add_base_chain(batch, "in", "filter", NF_INET_LOCAL_IN, 0);
  add_redirect(batch);
  add_untracked(batch);
  FilterRule(batch, kBound)
      .makes_an_entry()
      .more_often_than(kEntriesPerSecond, kEntriesAtOnce)
      .drop();
  FilterRule(batch, "in_new").jump(kBound);
  FilterRule(batch, "out_nat").jump(kRedirect);
  FilterRule(batch, "in_nat").jump(kRedirect);
  add_out(batch, "out");
  add_in(batch, "in");
  batch.ask_for_answer();
  batch.message(NFNL_MSG_BATCH_END, 0,
                nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)});
  return std::string(batch.bytes());
}

}  // namespace cay::launcher
