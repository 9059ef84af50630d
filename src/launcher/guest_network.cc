#include "launcher/guest_network.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/ip_address.h"
#include "launcher/guest_filter.h"
#include "os/netlink.h"
#include "wire/guest_network.h"

namespace cay::launcher {
namespace {

constexpr std::uint32_t kLoopback = 1;  // lo is the first link of every network namespace
constexpr std::uint16_t kMake = NLM_F_CREATE | NLM_F_EXCL;
constexpr int kBacklog = 1024;
// After the table `main`: programs inside have their own networks there.
constexpr std::uint8_t kToldTable = 100;
constexpr std::uint32_t kToldPriority = 32'800;
constexpr std::uint32_t kRestPriority = 32'801;

std::string_view bytes_of(const IpAddress& address) {
  const auto* at = address.is_v4() ? address.v4_bytes().data() : address.bytes().data();
  return {reinterpret_cast<const char*>(at), address.is_v4() ? 4U : 16U};
}

std::uint8_t family_of(const IpAddress& address) { return address.is_v4() ? AF_INET : AF_INET6; }

IpAddress known(const char* text) { return IpAddress::parse(text).value_or(IpAddress()); }

void add_address(os::NetlinkBatch& batch, const IpAddress& address) {
  ifaddrmsg head{};
  head.ifa_family = family_of(address);
  head.ifa_prefixlen = address.is_v4() ? 32 : 128;
  head.ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD;
  head.ifa_index = kLoopback;
  batch.message(RTM_NEWADDR, kMake, head);
  batch.attribute(IFA_LOCAL, bytes_of(address));
  batch.attribute(IFA_ADDRESS, bytes_of(address));
}

// RTN_LOCAL: delivered here, whatever the address. RTN_PROHIBIT: refused at once (EACCES).
// RTN_THROW: the rules behind this table decide.
void add_route(os::NetlinkBatch& batch, const Network& to, std::uint8_t type, const IpAddress& own,
               std::uint8_t table = RT_TABLE_MAIN) {
  rtmsg head{};
  head.rtm_family = family_of(to.address);
  head.rtm_dst_len = static_cast<std::uint8_t>(to.prefix);
  head.rtm_table = table;
  head.rtm_protocol = RTPROT_STATIC;
  head.rtm_scope = type == RTN_LOCAL && to.address.is_v4() ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
  head.rtm_type = type;
  batch.message(RTM_NEWROUTE, static_cast<std::uint16_t>(NLM_F_CREATE | NLM_F_REPLACE), head);
  if (to.prefix > 0) batch.attribute(RTA_DST, bytes_of(to.address));
  if (type != RTN_LOCAL) return;
  batch.host32(RTA_OIF, kLoopback);
  // An explicit source: answers to UDP would come from the wrong address without it.
  batch.attribute(RTA_PREFSRC, bytes_of(own));
}

std::string own_addresses(bool v4) {
  os::NetlinkBatch batch;
  if (v4) {
    ifinfomsg head{};
    head.ifi_index = static_cast<int>(kLoopback);
    head.ifi_flags = IFF_UP;
    head.ifi_change = IFF_UP;
    batch.message(RTM_NEWLINK, 0, head);
  }
  add_address(batch, known(v4 ? wire::kGuestV4 : wire::kGuestV6));
  batch.ask_for_answer();
  return std::string(batch.bytes());
}

Network everything(bool v4) { return {known(v4 ? "0.0.0.0" : "::"), 0}; }

void add_rule(os::NetlinkBatch& batch, bool v4, std::uint32_t priority, std::uint8_t action) {
  fib_rule_hdr head{};
  head.family = v4 ? AF_INET : AF_INET6;
  head.action = action;
  if (action == FR_ACT_TO_TBL) head.table = kToldTable;
  batch.message(RTM_NEWRULE, kMake, head);
  batch.host32(FRA_PRIORITY, priority);
  if (action != FR_ACT_TO_TBL) return;
  batch.text(FRA_IIFNAME,
             "lo");  // what is sent here, and not what a network namespace inside sends through
  const auto tcp = static_cast<char>(IPPROTO_TCP);
  batch.attribute(FRA_IP_PROTO, std::string_view(&tcp, 1));
}

// Rules for the addresses that `main` throws: TCP that begins here is local, and so redirected to
// the gate. The rest is refused.
std::string rules_of(bool v4) {
  os::NetlinkBatch batch;
  add_rule(batch, v4, kToldPriority, FR_ACT_TO_TBL);
  add_rule(batch, v4, kRestPriority, FR_ACT_PROHIBIT);
  add_route(batch, everything(v4), RTN_LOCAL, known(v4 ? wire::kGuestV4 : wire::kGuestV6),
            kToldTable);
  batch.ask_for_answer();
  return std::string(batch.bytes());
}

std::string routes_of(bool v4, const std::vector<Network>& allowed, std::uint8_t special) {
  os::NetlinkBatch batch;
  const IpAddress own = known(v4 ? wire::kGuestV4 : wire::kGuestV6);
  for (const Network& network : special_networks()) {
    if (network.address.is_v4() == v4) add_route(batch, network, special, own);
  }
  if (v4) add_route(batch, {known(wire::kGuestResolver), 32}, RTN_LOCAL, own);
  for (const Network& network : allowed) {
    if (network.address.is_v4() == v4 && network.prefix > 0)
      add_route(batch, network, RTN_LOCAL, own);
  }
  add_route(batch, everything(v4), RTN_LOCAL, own);
  batch.ask_for_answer();
  return std::string(batch.bytes());
}

Result<UniqueFd> listener(const IpAddress& address, int type) {
  UniqueFd fd(::socket(family_of(address), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::from_errno(errno, "make the gate's socket");
  int done = -1;
  if (address.is_v4()) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(wire::kGatePort);
    std::memcpy(&at.sin_addr, address.v4_bytes().data(), sizeof at.sin_addr);
    done = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
  } else {
    sockaddr_in6 at{};
    at.sin6_family = AF_INET6;
    at.sin6_port = htons(wire::kGatePort);
    std::memcpy(&at.sin6_addr, address.bytes().data(), sizeof at.sin6_addr);
    done = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }
  if (done != 0) return Error::from_errno(errno, "bind the gate's socket");
  if (type == SOCK_STREAM && ::listen(fd.get(), kBacklog) != 0)
    return Error::from_errno(errno, "listen for the gate");
  return fd;
}

Result<void> listen_on(const char* address, std::vector<UniqueFd>& out) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    CAY_TRY(UniqueFd fd, listener(known(address), type));
    out.push_back(std::move(fd));
  }
  return {};
}

Error unsupported(const Error& why) {
  return Error{
      Code::kUnsupported, "network_unsupported",
      std::string(kNoNetwork) + " (" + why.message + "): `cay doctor` lists what is missing",
      why.os_errno};
}

GuestNetwork::Routes all_routes(bool v4, const std::vector<Network>& allowed) {
  return {rules_of(v4), routes_of(v4, allowed, RTN_THROW), routes_of(v4, allowed, RTN_PROHIBIT)};
}

Result<void> make_routes(int fd, const GuestNetwork::Routes& routes, std::string_view what) {
  const auto ruled = os::send_netlink(fd, routes.rules, "make the rules of routes");
  return os::send_netlink(fd, ruled ? routes.told : routes.silent, what);
}

// Rules of nf_tables before routes: without them a connection to any address would end at the
// sandbox's own servers.
Result<std::vector<UniqueFd>> redirect(const GuestNetwork& plan) {
  CAY_TRY(const UniqueFd filters, os::open_netlink(NETLINK_NETFILTER));
  CAY_CHECK(os::send_netlink(filters.get(), plan.filter, "make the nf_tables rules"));
  CAY_TRY(const UniqueFd routes, os::open_netlink(NETLINK_ROUTE));
  CAY_CHECK(make_routes(routes.get(), plan.v4, "make the routes"));
  const auto six = make_routes(routes.get(), plan.v6, "make the routes of IPv6");
  std::vector<UniqueFd> out;
  CAY_CHECK(listen_on(wire::kGuestV4, out));
  // A kernel without IPv6: its addresses are then unreachable inside, as they are outside.
  if (six) {
    CAY_CHECK(listen_on(wire::kGuestV6, out));
  }
  return out;
}

}  // namespace

Result<GuestNetwork> plan_guest_network(const std::vector<std::string>& allowed) {
  std::vector<Network> networks;
  for (const std::string& text : allowed) {
    const auto network = Network::parse(text);
    if (!network)
      return Error{Code::kInvalidArgument, "bad_request",
                   "'" + text.substr(0, 64) + "' is no network", 0};
    networks.push_back(*network);
  }
  return GuestNetwork{all_routes(true, networks), all_routes(false, networks), guest_filter()};
}

Result<void> set_up_loopback() {
  CAY_TRY(const UniqueFd links, os::open_netlink(NETLINK_ROUTE));
  CAY_CHECK(os::send_netlink(links.get(), own_addresses(true), "bring lo up"));
  static_cast<void>(os::send_netlink(links.get(), own_addresses(false),
                                     "give lo its IPv6 address"));  // where there is IPv6
  return {};
}

Result<std::vector<UniqueFd>> set_up_guest_network(const GuestNetwork& plan) {
  auto made = redirect(plan);
  if (!made) return unsupported(made.error());
  return made;
}

}  // namespace cay::launcher
