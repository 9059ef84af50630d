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
#include "os/netlink.h"
#include "wire/guest_network.h"

namespace cay::launcher {
namespace {

constexpr const char* kTable = "cay";
constexpr const char* kRedirect = "redirect";
constexpr std::uint32_t kLoopback = 1;
constexpr int kNatPriority = -100;  // NF_IP_PRI_NAT_DST, where dnat belongs

// Where an IP header has its destination.
constexpr std::uint32_t kV4Destination = 16;
constexpr std::uint32_t kV6Destination = 24;
constexpr std::uint32_t kUdpDestinationPort = 2;
constexpr std::uint8_t kRedirected[] = {IPPROTO_TCP, IPPROTO_UDP};

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string raw(const char* address) {
  const IpAddress ip = IpAddress::parse(address).value_or(IpAddress());
  const auto* at = ip.is_v4() ? ip.v4_bytes().data() : ip.bytes().data();
  return {reinterpret_cast<const char*>(at), ip.is_v4() ? 4U : 16U};
}

std::uint16_t type_of(int message) { return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message); }

// One rule: its expressions are the members' calls, in order.
class Rule {
 public:
  Rule(os::NetlinkBatch& batch, const char* chain) : batch_(batch) {
    batch_.message(type_of(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND, nfgenmsg{NFPROTO_INET, NFNETLINK_V0, 0});
    batch_.text(NFTA_RULE_TABLE, kTable);
    batch_.text(NFTA_RULE_CHAIN, chain);
    batch_.open(NFTA_RULE_EXPRESSIONS);
  }
  ~Rule() { batch_.close(); }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  Rule& family(std::uint8_t number) { return meta(NFT_META_NFPROTO).compare(NFT_CMP_EQ, bytes_of(number)); }
  Rule& protocol(std::uint8_t number) { return meta(NFT_META_L4PROTO).compare(NFT_CMP_EQ, bytes_of(number)); }
  Rule& out_link(nft_cmp_ops how) { return meta(NFT_META_OIF).compare(how, bytes_of(kLoopback)); }
  Rule& in_link(nft_cmp_ops how) { return meta(NFT_META_IIF).compare(how, bytes_of(kLoopback)); }
  Rule& udp_port(std::uint16_t port) {
    return load(NFT_PAYLOAD_TRANSPORT_HEADER, kUdpDestinationPort, sizeof port).compare(NFT_CMP_EQ, bytes_of(htons(port)));
  }
  // The first bytes of the destination, as many as `prefix` has.
  Rule& to_v4(nft_cmp_ops how, std::string_view prefix) {
    return load(NFT_PAYLOAD_NETWORK_HEADER, kV4Destination, static_cast<std::uint32_t>(prefix.size())).compare(how, prefix);
  }
  Rule& to_v6(nft_cmp_ops how, std::string_view prefix) {
    return load(NFT_PAYLOAD_NETWORK_HEADER, kV6Destination, static_cast<std::uint32_t>(prefix.size())).compare(how, prefix);
  }

  void accept() { verdict(NF_ACCEPT, nullptr); }
  void jump(const char* chain) { verdict(NFT_JUMP, chain); }
  void reject() {
    open("reject");
    batch_.big32(NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
    const std::uint8_t code = NFT_REJECT_ICMPX_ADMIN_PROHIBITED;
    batch_.attribute(NFTA_REJECT_ICMP_CODE, bytes_of(code));
    shut();
  }
  void dnat(std::uint8_t to_family, std::string_view address) {
    immediate(NFT_REG_1, address);
    immediate(NFT_REG_2, bytes_of(htons(wire::kGatePort)));
    open("nat");
    batch_.big32(NFTA_NAT_TYPE, NFT_NAT_DNAT);
    batch_.big32(NFTA_NAT_FAMILY, to_family);
    batch_.big32(NFTA_NAT_REG_ADDR_MIN, NFT_REG_1);
    batch_.big32(NFTA_NAT_REG_PROTO_MIN, NFT_REG_2);
    shut();
  }

 private:
  void open(const char* name) {
    batch_.open(NFTA_LIST_ELEM);
    batch_.text(NFTA_EXPR_NAME, name);
    batch_.open(NFTA_EXPR_DATA);
  }
  void shut() {
    batch_.close();
    batch_.close();
  }
  void value(std::uint16_t attribute, std::string_view bytes) {
    batch_.open(attribute);
    batch_.attribute(NFTA_DATA_VALUE, bytes);
    batch_.close();
  }
  Rule& meta(std::uint32_t key) {
    open("meta");
    batch_.big32(NFTA_META_KEY, key);
    batch_.big32(NFTA_META_DREG, NFT_REG_1);
    shut();
    return *this;
  }
  Rule& load(std::uint32_t base, std::uint32_t offset, std::uint32_t size) {
    open("payload");
    batch_.big32(NFTA_PAYLOAD_DREG, NFT_REG_1);
    batch_.big32(NFTA_PAYLOAD_BASE, base);
    batch_.big32(NFTA_PAYLOAD_OFFSET, offset);
    batch_.big32(NFTA_PAYLOAD_LEN, size);
    shut();
    return *this;
  }
  Rule& compare(nft_cmp_ops how, std::string_view bytes) {
    open("cmp");
    batch_.big32(NFTA_CMP_SREG, NFT_REG_1);
    batch_.big32(NFTA_CMP_OP, how);
    value(NFTA_CMP_DATA, bytes);
    shut();
    return *this;
  }
  void immediate(std::uint32_t target, std::string_view bytes) {
    open("immediate");
    batch_.big32(NFTA_IMMEDIATE_DREG, target);
    value(NFTA_IMMEDIATE_DATA, bytes);
    shut();
  }
  void verdict(int code, const char* chain) {
    open("immediate");
    batch_.big32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    batch_.open(NFTA_IMMEDIATE_DATA);
    batch_.open(NFTA_DATA_VERDICT);
    batch_.big32(NFTA_VERDICT_CODE, static_cast<std::uint32_t>(code));
    if (chain != nullptr) batch_.text(NFTA_VERDICT_CHAIN, chain);
    batch_.close();
    batch_.close();
    shut();
  }

  os::NetlinkBatch& batch_;
};

void add_chain(os::NetlinkBatch& batch, const char* name) {
  batch.message(type_of(NFT_MSG_NEWCHAIN), NLM_F_CREATE, nfgenmsg{NFPROTO_INET, NFNETLINK_V0, 0});
  batch.text(NFTA_CHAIN_TABLE, kTable);
  batch.text(NFTA_CHAIN_NAME, name);
}

void add_base_chain(os::NetlinkBatch& batch, const char* name, const char* type, std::uint32_t hook, int priority) {
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
    Rule rule(batch, kRedirect);
    rule.family(NFPROTO_IPV4).protocol(protocol);
    if (protocol == IPPROTO_UDP) rule.udp_port(53);
    rule.to_v4(NFT_CMP_NEQ, "\x7f").to_v4(NFT_CMP_NEQ, v4).dnat(NFPROTO_IPV4, v4);
  }
  for (const std::uint8_t protocol : kRedirected) {
    Rule rule(batch, kRedirect);
    rule.family(NFPROTO_IPV6).protocol(protocol);
    if (protocol == IPPROTO_UDP) rule.udp_port(53);
    rule.to_v6(NFT_CMP_NEQ, loopback).to_v6(NFT_CMP_NEQ, v6).dnat(NFPROTO_IPV6, v6);
  }
}

void add_out(os::NetlinkBatch& batch, const char* chain) {
  Rule(batch, chain).out_link(NFT_CMP_NEQ).accept();
  Rule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, "\x7f").accept();
  Rule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, raw(wire::kGuestV4)).accept();
  Rule(batch, chain).family(NFPROTO_IPV6).to_v6(NFT_CMP_EQ, raw("::1")).accept();
  Rule(batch, chain).family(NFPROTO_IPV6).to_v6(NFT_CMP_EQ, raw(wire::kGuestV6)).accept();
  Rule(batch, chain).reject();
}

void add_in(os::NetlinkBatch& batch, const char* chain) {
  Rule(batch, chain).in_link(NFT_CMP_EQ).accept();
  Rule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, raw(wire::kGuestV4)).accept();
  Rule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, "\x0a").accept();
  Rule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_GTE, "\xac\x10").to_v4(NFT_CMP_LTE, "\xac\x1f").accept();
  Rule(batch, chain).family(NFPROTO_IPV4).to_v4(NFT_CMP_EQ, "\xc0\xa8").accept();
  Rule(batch, chain).family(NFPROTO_IPV6).to_v6(NFT_CMP_GTE, "\xfc").accept();
  Rule(batch, chain).reject();
}

}  // namespace

std::string guest_filter() {
  os::NetlinkBatch batch;
  batch.message(NFNL_MSG_BATCH_BEGIN, 0, nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)});
  batch.message(type_of(NFT_MSG_NEWTABLE), NLM_F_CREATE, nfgenmsg{NFPROTO_INET, NFNETLINK_V0, 0});
  batch.text(NFTA_TABLE_NAME, kTable);
  add_chain(batch, kRedirect);
  add_base_chain(batch, "out_nat", "nat", NF_INET_LOCAL_OUT, kNatPriority);
  add_base_chain(batch, "in_nat", "nat", NF_INET_PRE_ROUTING, kNatPriority);
  add_base_chain(batch, "out", "filter", NF_INET_LOCAL_OUT, 0);
  add_base_chain(batch, "in", "filter", NF_INET_LOCAL_IN, 0);
  add_redirect(batch);
  Rule(batch, "out_nat").jump(kRedirect);
  Rule(batch, "in_nat").jump(kRedirect);
  add_out(batch, "out");
  add_in(batch, "in");
  batch.ask_for_answer();
  batch.message(NFNL_MSG_BATCH_END, 0, nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)});
  return std::string(batch.bytes());
}

}  // namespace cay::launcher
