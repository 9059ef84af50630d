#include "launcher/filter_rule.h"

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#include <bit>

namespace cay::launcher {
namespace {

constexpr std::uint32_t kLoopback = 1;

// The offset of the destination in an IP header.
constexpr std::uint32_t kV4Destination = 16;
constexpr std::uint32_t kV6Destination = 24;
// The offset of the ports in TCP, UDP and their like.
constexpr std::uint32_t kSourcePort = 0;
constexpr std::uint32_t kDestinationPort = 2;

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint64_t big64(std::uint64_t value) {
  return std::endian::native == std::endian::big ? value : __builtin_bswap64(value);
}

}  // namespace

std::uint16_t filter_message(int message) {
  return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message);
}

FilterRule::FilterRule(os::NetlinkBatch& batch, const char* chain)
    : batch_(batch), expressions_(batch) {
  batch_.message(filter_message(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND,
                 nfgenmsg{NFPROTO_INET, NFNETLINK_V0, 0});
  batch_.text(NFTA_RULE_TABLE, kFilterTable);
  batch_.text(NFTA_RULE_CHAIN, chain);
  batch_.open(NFTA_RULE_EXPRESSIONS);
}

FilterRule& FilterRule::family(std::uint8_t number) {
  expressions_.meta(NFT_META_NFPROTO).compare(NFT_CMP_EQ, bytes_of(number));
  return *this;
}
FilterRule& FilterRule::protocol(std::uint8_t number) {
  expressions_.meta(NFT_META_L4PROTO).compare(NFT_CMP_EQ, bytes_of(number));
  return *this;
}
FilterRule& FilterRule::out_link(nft_cmp_ops how) {
  expressions_.meta(NFT_META_OIF).compare(how, bytes_of(kLoopback));
  return *this;
}
FilterRule& FilterRule::in_link(nft_cmp_ops how) {
  expressions_.meta(NFT_META_IIF).compare(how, bytes_of(kLoopback));
  return *this;
}

FilterRule& FilterRule::source_port(std::uint16_t port) {
  expressions_.load(NFT_PAYLOAD_TRANSPORT_HEADER, kSourcePort, sizeof port)
      .compare(NFT_CMP_EQ, bytes_of(htons(port)));
  return *this;
}
FilterRule& FilterRule::destination_port(nft_cmp_ops how, std::uint16_t port) {
  expressions_.load(NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPort, sizeof port)
      .compare(how, bytes_of(htons(port)));
  return *this;
}
FilterRule& FilterRule::to_v4(nft_cmp_ops how, std::string_view prefix) {
  expressions_
      .load(NFT_PAYLOAD_NETWORK_HEADER, kV4Destination, static_cast<std::uint32_t>(prefix.size()))
      .compare(how, prefix);
  return *this;
}
FilterRule& FilterRule::to_v6(nft_cmp_ops how, std::string_view prefix) {
  expressions_
      .load(NFT_PAYLOAD_NETWORK_HEADER, kV6Destination, static_cast<std::uint32_t>(prefix.size()))
      .compare(how, prefix);
  return *this;
}

FilterRule& FilterRule::makes_an_entry() {
  expressions_.open(
      "ct");  // without an entry to come, or where it is left untracked, this matches nothing
  batch_.big32(NFTA_CT_DREG, NFT_REG_1);
  batch_.big32(NFTA_CT_KEY, NFT_CT_STATUS);
  expressions_.shut();
  const std::uint32_t confirmed = IPS_CONFIRMED, none = 0;
  expressions_.open("bitwise");
  batch_.big32(NFTA_BITWISE_SREG, NFT_REG_1);
  batch_.big32(NFTA_BITWISE_DREG, NFT_REG_1);
  batch_.big32(NFTA_BITWISE_LEN, sizeof confirmed);
  expressions_.value(NFTA_BITWISE_MASK, bytes_of(confirmed));
  expressions_.value(NFTA_BITWISE_XOR, bytes_of(none));
  expressions_.shut();
  expressions_.compare(NFT_CMP_EQ, bytes_of(none));
  return *this;
}

FilterRule& FilterRule::more_often_than(std::uint64_t a_second, std::uint32_t at_once) {
  expressions_.open("limit");
  batch_.attribute(NFTA_LIMIT_RATE, bytes_of(big64(a_second)));
  batch_.attribute(NFTA_LIMIT_UNIT, bytes_of(big64(1)));
  batch_.big32(NFTA_LIMIT_BURST, at_once);
  batch_.big32(NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
  batch_.big32(NFTA_LIMIT_FLAGS, NFT_LIMIT_F_INV);
  expressions_.shut();
  return *this;
}

void FilterRule::leave_untracked() {
  expressions_.open("notrack");
  expressions_.shut();
}

void FilterRule::reject() {
  expressions_.open("reject");
  batch_.big32(NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
  const std::uint8_t code = NFT_REJECT_ICMPX_ADMIN_PROHIBITED;
  batch_.attribute(NFTA_REJECT_ICMP_CODE, bytes_of(code));
  expressions_.shut();
}

void FilterRule::dnat(std::uint8_t to_family, std::string_view address, std::uint16_t port) {
  expressions_.immediate(NFT_REG_1, address);
  expressions_.immediate(NFT_REG_2, bytes_of(htons(port)));
  expressions_.open("nat");
  batch_.big32(NFTA_NAT_TYPE, NFT_NAT_DNAT);
  batch_.big32(NFTA_NAT_FAMILY, to_family);
  batch_.big32(NFTA_NAT_REG_ADDR_MIN, NFT_REG_1);
  batch_.big32(NFTA_NAT_REG_PROTO_MIN, NFT_REG_2);
  expressions_.shut();
}

void FilterExpressions::open(const char* name) {
  batch_.open(NFTA_LIST_ELEM);
  batch_.text(NFTA_EXPR_NAME, name);
  batch_.open(NFTA_EXPR_DATA);
}
void FilterExpressions::shut() {
  batch_.close();
  batch_.close();
}
void FilterExpressions::value(std::uint16_t attribute, std::string_view bytes) {
  batch_.open(attribute);
  batch_.attribute(NFTA_DATA_VALUE, bytes);
  batch_.close();
}
FilterExpressions& FilterExpressions::meta(std::uint32_t key) {
  open("meta");
  batch_.big32(NFTA_META_KEY, key);
  batch_.big32(NFTA_META_DREG, NFT_REG_1);
  shut();
  return *this;
}
FilterExpressions& FilterExpressions::load(std::uint32_t base, std::uint32_t offset,
                                           std::uint32_t size) {
  open("payload");
  batch_.big32(NFTA_PAYLOAD_DREG, NFT_REG_1);
  batch_.big32(NFTA_PAYLOAD_BASE, base);
  batch_.big32(NFTA_PAYLOAD_OFFSET, offset);
  batch_.big32(NFTA_PAYLOAD_LEN, size);
  shut();
  return *this;
}
void FilterExpressions::compare(nft_cmp_ops how, std::string_view bytes) {
  open("cmp");
  batch_.big32(NFTA_CMP_SREG, NFT_REG_1);
  batch_.big32(NFTA_CMP_OP, how);
  value(NFTA_CMP_DATA, bytes);
  shut();
}
void FilterExpressions::immediate(std::uint32_t target, std::string_view bytes) {
  open("immediate");
  batch_.big32(NFTA_IMMEDIATE_DREG, target);
  value(NFTA_IMMEDIATE_DATA, bytes);
  shut();
}
void FilterExpressions::verdict(int code, const char* chain) {
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

}  // namespace cay::launcher
