#include "os/route.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "os/netlink.h"

namespace cay::os {

Result<RouteKind> route_kind(const IpAddress& to) {
  CAY_TRY(const UniqueFd fd, open_netlink(NETLINK_ROUTE));
  rtmsg head{};
  head.rtm_family = to.is_v4() ? AF_INET : AF_INET6;
  head.rtm_dst_len = to.is_v4() ? 32 : 128;
  NetlinkBatch batch;
  batch.message(RTM_GETROUTE, 0, head);
  const auto* at = to.is_v4() ? to.v4_bytes().data() : to.bytes().data();
  batch.attribute(RTA_DST,
                  std::string_view(reinterpret_cast<const char*>(at), to.is_v4() ? 4 : 16));
  const std::string_view bytes = batch.bytes();
  if (::send(fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error::from_errno(errno, "get a route");
  alignas(nlmsghdr) std::array<char, 4096> buffer;
  const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  nlmsghdr header{};
  if (got < static_cast<ssize_t>(sizeof header))
    return Error::from_errno(got < 0 ? errno : EPROTO, "get a route");
  std::memcpy(&header, buffer.data(), sizeof header);
  const auto have = static_cast<std::size_t>(got) - sizeof header;
  if (header.nlmsg_type == NLMSG_ERROR && have >= sizeof(nlmsgerr)) {
    nlmsgerr answer{};
    std::memcpy(&answer, buffer.data() + sizeof header, sizeof answer);
    const int err = -answer.error;
    if (err == ENETUNREACH || err == EHOSTUNREACH) return RouteKind::kNone;
    if (err == EACCES || err == EINVAL) return RouteKind::kOther;
    return Error::from_errno(err, "get a route");
  }
  if (header.nlmsg_type != RTM_NEWROUTE || have < sizeof(rtmsg))
    return Error::from_errno(EPROTO, "get a route");
  rtmsg route{};
  std::memcpy(&route, buffer.data() + sizeof header, sizeof route);
  if (route.rtm_type == RTN_UNICAST) return RouteKind::kUnicast;
  if (route.rtm_type == RTN_LOCAL) return RouteKind::kLocal;
  if (route.rtm_type == RTN_UNREACHABLE) return RouteKind::kNone;
  return RouteKind::kOther;
}

}  // namespace cay::os
