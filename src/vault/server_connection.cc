#include "vault/server_connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "async/deadline.h"
#include "gate/sockets.h"

namespace cay::vault {
namespace {

constexpr Millis kHandshakeLimit{10'000};
constexpr Millis kDialLimit{10'000};

int family_of(int fd) {
  int family = AF_INET;
  socklen_t size = sizeof family;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return family;
}

// A stand-in is nobody's address.
std::string shown(const IpAddress& address) {
  return gate::UpstreamProxy::stand_ins().contains(address) ? "" : address.text();
}

Error unreachable(const ProxyHost& host, const Error& why) {
  const bool late = why.code == Code::kDeadlineExceeded;
  return {Code::kUnavailable, late ? "no_answer" : "unreachable",
          host.text() + " cannot be reached: " + why.message, 0};
}

}  // namespace

http::Transport transport_of(const asio::any_io_executor& loop, UniqueFd fd) {
  const int family = family_of(fd.get());
  asio::generic::stream_protocol::socket socket(
      loop, asio::generic::stream_protocol(family, IPPROTO_TCP), fd.release());
  return http::Transport(std::move(socket));
}

namespace {
// Read from the socket already.
bool has_read_on(http::Channel& channel) {
  if (channel.secured() == nullptr) return false;
  SSL* const tls = channel.secured()->native_handle();
  return ::SSL_has_pending(tls) == 1 || ::BIO_ctrl_pending(::SSL_get_rbio(tls)) > 0;
}
}  // namespace

bool has_more(http::Channel& channel) {
  char byte = 0;
  return has_read_on(channel) || ::recv(channel.next_layer().socket().native_handle(), &byte, 1,
                                        MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool ServerConnection::is_quiet() const {
  if (has_read_on(*channel)) return false;
  char byte = 0;
  return ::recv(channel->next_layer().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) <
             0 &&
         errno == EAGAIN;
}

Task<std::unique_ptr<ServerConnection>> dial(RelayHouse& house, ProxyHost host, std::string asker,
                                             std::string& address, gate::BufferSizes buffers) {
  auto found = co_await house.resolver.resolve(host.host, std::move(asker));
  if (found.addresses.empty()) {
    const bool failed = found.outcome == gate::Resolved::Outcome::kFailed;
    co_return Error{Code::kUnavailable, failed ? "lookup_failed" : "name_not_found",
                    host.host + " was not found", 0};
  }
  Error last{Code::kPermissionDenied, "private_address",
             host.host + " is at a private address, which sandboxes do not reach", 0};
  address = shown(found.addresses.front());
  for (std::size_t i = 0; i < found.addresses.size(); ++i) {
    const IpAddress candidate = found.addresses[i];
    if (house.reachable.look_at(candidate) != gate::Reachable::May::kDial) continue;
    address = shown(candidate);
    const gate::Endpoint at{candidate, host.port};
    auto dialled =
        co_await house.proxy.reach(house.loop, house.resolver, host.host, at, buffers, kDialLimit);
    if (!dialled) {
      const bool of_proxy = dialled.error().reason.starts_with("proxy_");
      last = of_proxy ? dialled.error() : unreachable(host, dialled.error());
      continue;
    }
    if (!dialled->early.empty()) {
      last =
          Error{Code::kUnavailable, "tls_failed",
                host.text() + " speaks before it is spoken to, which a server by TLS does not", 0};
      continue;
    }
    gate::tune(dialled->socket.get());
    auto channel = std::make_shared<http::Channel>(
        transport_of(house.loop, std::move(dialled->socket)), house.tls.context());
    auto shaking = house.tls.handshake(*channel, host.host);
    CAY_CO_CHECK(co_await with_deadline(std::move(shaking), kHandshakeLimit,
                                        "the handshake with " + host.host));
    auto out = std::make_unique<ServerConnection>();
    out->host = std::move(host);
    out->stream = std::make_unique<http::RawStream>(channel, Bytes());
    out->channel = std::move(channel);
    co_return std::move(out);
  }
  co_return last;
}

}  // namespace cay::vault
