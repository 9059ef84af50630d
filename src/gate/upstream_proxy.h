// UpstreamProxy: the operator's HTTP proxy, for hosts that reach the outside through it alone.
// Connections go by CONNECT (RFC 9110, section 9.3.6), with the name that the sandbox used. Such
// hosts often know no outside names. The sandbox then gets a stand-in for the name, an address of a
// range that nobody has.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ip_address.h"
#include "gate/resolver.h"
#include "gate/settings.h"
#include "gate/socket_memory.h"
#include "gate/sockets.h"

namespace cay::gate {

class UpstreamProxy {
 public:
  static constexpr Millis kAnswerLimit{30'000};  // it dials in that time

  UpstreamProxy() = default;  // there is none
  explicit UpstreamProxy(const ProxySettings& settings);

  bool is_set() const { return !host_.empty(); }
  // Addresses that stand in for names: of 240.0.0.0/4, which is reserved. To be called reachable,
  // as they are dialled by nobody.
  static Network stand_ins();
  // `own`, and a stand-in for what it does not find. On any thread.
  LookUp look_up(LookUp own) const;

  // Whether a connection to `host` (empty: unknown) at this address goes through the proxy. It does
  // not if the operator excludes it, or if the address is special: such an address was opened for
  // the gate itself.
  bool takes(std::string_view host, const IpAddress& address) const;

  // A connection that was opened, by the proxy or past it.
  struct Opened {
    UniqueFd socket;
    std::string early;  // what came behind the proxy's answer: the other side spoke first
  };
  // A connection that leads to `host` at `to`'s port, or to that address: through the proxy, or
  // directly. Fails as dial(), or kUnavailable: proxy_unreachable, proxy_refused, proxy_bad_answer.
  Task<Opened> reach(asio::any_io_executor loop, Resolver& resolver, std::string host, Endpoint to,
                     BufferSizes buffers, Millis limit) const;
  // The same, through the proxy.
  Task<Opened> open(asio::any_io_executor loop, Resolver& resolver, std::string host, Endpoint to,
                    BufferSizes buffers, Millis limit) const;

 private:
  bool is_direct(std::string_view host) const;
  Task<Opened> ask(asio::any_io_executor loop, UniqueFd socket, std::string target) const;

  std::string host_, authorization_;
  std::uint16_t port_ = 0;
  std::vector<std::string> direct_names_;
  std::vector<Network> direct_networks_;
  bool all_direct_ = false;
};

// The special ranges that the operator opened, and where a proxy is set the stand-ins.
// kInvalidArgument (bad_config): one is no network.
Result<std::vector<Network>> reachable_networks(const std::vector<std::string>& opened,
                                                const ProxySettings& proxy);

}  // namespace cay::gate
