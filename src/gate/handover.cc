#include "gate/handover.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "async/deadline.h"
#include "gate/sockets.h"
#include "os/unix_socket.h"

namespace cay::gate {
namespace {

constexpr std::size_t kLength = 4;
constexpr Millis kFirstRetry{50};
constexpr Millis kMostRetry{2'000};

}  // namespace

std::string framed(std::string_view message) {
  std::string out;
  out.reserve(kLength + message.size());
  for (std::size_t i = 0; i < kLength; ++i) out.push_back(static_cast<char>(message.size() >> (8 * i)));
  out += message;
  return out;
}

Result<std::optional<std::string>> take_frame(std::string& have) {
  if (have.size() < kLength) return std::optional<std::string>();
  std::size_t size = 0;
  for (std::size_t i = kLength; i-- > 0;) size = size << 8 | static_cast<unsigned char>(have[i]);
  if (size > wire::kMostVaultFrame) return Error{Code::kInvalidArgument, "frame_too_large", "a frame is too large", 0};
  if (have.size() < kLength + size) return std::optional<std::string>();
  std::optional<std::string> out = have.substr(kLength, size);
  have.erase(0, kLength + size);
  return out;
}

asio::awaitable<void> Handover::run() {
  Millis pause = kFirstRetry;
  for (;;) {
    auto fd = dial();
    if (fd) {
      auto learnt = co_await learn(*std::move(fd));
      if (learnt) pause = kFirstRetry;
    }
    co_await sleep_for(pause);
    pause = std::min(pause * 2, kMostRetry);
  }
}

// Success: it had begun to tell.
Task<void> Handover::learn(UniqueFd fd) {
  wire::BrokerHello hello;
  CAY_CO_CHECK(os::send_message(fd.get(), framed(wire::encode(hello))));
  Descriptor broker(loop_, fd.release());
  All fresh;
  bool all_told = false;
  std::string have;
  for (;;) {
    CAY_CO_TRY(auto frame, take_frame(have));
    if (!frame) {
      char piece[4096];
      const ssize_t got = ::recv(broker.native_handle(), piece, sizeof piece, MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) {
        co_await readable(broker);
        continue;
      }
      if (got <= 0 && !all_told) co_return Error{Code::kUnavailable, "vault_unavailable", "the broker is gone", 0};
      if (got <= 0) co_return Result<void>();
      have.append(piece, static_cast<std::size_t>(got));
      continue;
    }
    const auto told = wire::decode<wire::BrokerRoutes>(*frame);
    if (!told) co_return Error{Code::kUnavailable, "vault_unavailable", "the broker says what cannot be read", 0};
    if (told->all_told) {
      all_ = std::move(fresh);
      all_told = true;
      continue;
    }
    Routes routes;
    routes.base_url = told->base_url;
    for (const std::string& text : told->hosts) {
      if (const auto host = parse_proxy_host(text)) routes.hosts.push_back(*host);
    }
    All& into = all_told ? all_ : fresh;
    if (routes.base_url || !routes.hosts.empty()) {
      into[told->sandbox_id] = std::move(routes);
    } else {
      into.erase(told->sandbox_id);
    }
  }
}

const Handover::Routes* Handover::of(const std::string& sandbox_id) const {
  const auto found = all_.find(sandbox_id);
  return found == all_.end() ? nullptr : &found->second;
}

bool Handover::base_url(const std::string& sandbox_id) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && routes->base_url;
}

bool Handover::any_at(const std::string& sandbox_id, std::uint16_t port) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->hosts, [&](const ProxyHost& one) { return one.port == port; });
}

bool Handover::takes(const std::string& sandbox_id, std::string_view host, std::uint16_t port) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->hosts, [&](const ProxyHost& one) { return one.matches(host, port); });
}

bool Handover::resolves(const std::string& sandbox_id, std::string_view host) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->hosts, [&](const ProxyHost& one) { return one.matches(host, one.port); });
}

}  // namespace cay::gate
