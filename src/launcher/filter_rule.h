// FilterRule: one rule of nf_tables, added to a netlink batch.
#pragma once
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <cstdint>
#include <string_view>

#include "os/netlink.h"

namespace cay::launcher {

inline constexpr const char* kFilterTable = "cay";
std::uint16_t filter_message(int message);

// Appends the expressions of one rule to a batch, as the kernel encodes them. Comparisons read the
// register that the expression before them loaded.
class FilterExpressions {
 public:
  explicit FilterExpressions(os::NetlinkBatch& batch) : batch_(batch) {}

  void open(const char* name);
  void shut();
  void value(std::uint16_t attribute, std::string_view bytes);
  FilterExpressions& meta(std::uint32_t key);
  FilterExpressions& load(std::uint32_t base, std::uint32_t offset, std::uint32_t size);
  void compare(nft_cmp_ops how, std::string_view bytes);
  void immediate(std::uint32_t target, std::string_view bytes);
  void verdict(int code, const char* chain);

 private:
  os::NetlinkBatch& batch_;
};

// Its expressions are the members' calls, in order; it is whole once it is destroyed.
class FilterRule {
 public:
  FilterRule(os::NetlinkBatch& batch, const char* chain);
  ~FilterRule() { batch_.close(); }
  FilterRule(const FilterRule&) = delete;
  FilterRule& operator=(const FilterRule&) = delete;

  FilterRule& family(std::uint8_t number);
  FilterRule& protocol(std::uint8_t number);
  FilterRule& out_link(nft_cmp_ops how);  // loopback
  FilterRule& in_link(nft_cmp_ops how);
  FilterRule& source_port(std::uint16_t port);
  FilterRule& destination_port(nft_cmp_ops how, std::uint16_t port);
  // The first bytes of the destination, as many as `prefix` has.
  FilterRule& to_v4(nft_cmp_ops how, std::string_view prefix);
  FilterRule& to_v6(nft_cmp_ops how, std::string_view prefix);
  // The first packet of what has no entry in the table of connections, and is to have one.
  FilterRule& makes_an_entry();
  // Beyond so many a second, once `at_once` came.
  FilterRule& more_often_than(std::uint64_t a_second, std::uint32_t at_once);

  void accept() { expressions_.verdict(NF_ACCEPT, nullptr); }
  void drop() { expressions_.verdict(NF_DROP, nullptr); }
  void jump(const char* chain) { expressions_.verdict(NFT_JUMP, chain); }
  void leave_untracked();
  void reject();
  void dnat(std::uint8_t to_family, std::string_view address, std::uint16_t port);

 private:
  os::NetlinkBatch& batch_;
  FilterExpressions expressions_;
};

}  // namespace cay::launcher
