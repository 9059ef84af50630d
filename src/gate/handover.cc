#include "gate/handover.h"

#include <algorithm>

#include "async/deadline.h"
#include "gate/broker_frames.h"
#include "gate/sockets.h"
#include "os/unix_socket.h"
#include "wire/vault_frame.h"

namespace cay::gate {
namespace {

constexpr std::uint16_t kPlainHttp = 80;
constexpr Millis kFirstRetry{10};
constexpr Millis kMostRetry{200};  // the broker waits for us with new rules (vault/broker.cc, kGateLimit)

}  // namespace

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
  CAY_CO_CHECK(os::send_message(fd.get(), wire::vault_frame(wire::encode(hello))));
  Descriptor broker(loop_, fd.release());
  All fresh;
  bool all_told = false;
  FrameReader reader;
  for (;;) {
    const auto frame = co_await reader.next(broker);
    if (!frame && all_told && frame.error().code == Code::kCancelled) co_return Result<void>();
    if (!frame) co_return Error{Code::kUnavailable, "vault_unavailable", "the broker is gone: " + frame.error().message, 0};
    const auto told = wire::decode<wire::BrokerRoutes>(*frame);
    if (!told) co_return Error{Code::kUnavailable, "vault_unavailable", "the broker says what cannot be read", 0};
    if (told->all_told) {
      all_ = std::move(fresh);
      all_told = true;
      for (const auto& [id, routes] : all_) changed(id);
      continue;
    }
    Routes routes;
    routes.base_url = told->base_url;
    for (const std::string& text : told->hosts) {
      if (const auto host = parse_proxy_host(text)) routes.hosts.push_back(*host);
    }
    for (const std::string& text : told->fences) {
      if (const auto host = parse_proxy_host(text)) routes.fences.push_back(*host);
    }
    All& into = all_told ? all_ : fresh;
    if (routes.base_url || !routes.hosts.empty() || !routes.fences.empty()) {
      into[told->sandbox_id] = std::move(routes);
    } else {
      into.erase(told->sandbox_id);
    }
    if (all_told) changed(told->sandbox_id);
  }
}

void Handover::changed(const std::string& sandbox_id) const {
  if (on_change) on_change(sandbox_id);
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
  const auto here = [&](const ProxyHost& one) { return one.port == port; };
  return routes != nullptr && (std::ranges::any_of(routes->hosts, here) || std::ranges::any_of(routes->fences, here));
}

bool Handover::takes(const std::string& sandbox_id, std::string_view host, std::uint16_t port) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->hosts, [&](const ProxyHost& one) { return one.matches(host, port); });
}

bool Handover::resolves(const std::string& sandbox_id, std::string_view host) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->hosts, [&](const ProxyHost& one) { return one.matches(host, one.port); });
}

bool Handover::knows(const std::string& sandbox_id, std::string_view host) const {
  const Routes* routes = of(sandbox_id);
  return resolves(sandbox_id, host) || (routes != nullptr && std::ranges::any_of(routes->fences, [&](const ProxyHost& one) { return one.matches(host, one.port); }));
}

bool Handover::any_fence(const std::string& sandbox_id) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && !routes->fences.empty();
}

bool Handover::any_fence_at(const std::string& sandbox_id, std::uint16_t port) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->fences, [&](const ProxyHost& one) { return one.port == port; });
}

bool Handover::fences(const std::string& sandbox_id, std::string_view host, std::uint16_t port) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->fences, [&](const ProxyHost& one) { return one.matches(host, port); });
}

bool Handover::fenced_off(const std::string& sandbox_id, std::string_view host, std::uint16_t port) const {
  const Routes* routes = of(sandbox_id);
  return routes != nullptr && std::ranges::any_of(routes->fences, [&](const ProxyHost& one) { return one.matches(host, one.port) && (port == one.port || port == kPlainHttp); });
}

}  // namespace cay::gate
