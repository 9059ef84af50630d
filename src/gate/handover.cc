#include "gate/handover.h"

#include <algorithm>
#include <array>

#include "async/deadline.h"
#include "gate/broker_frames.h"
#include "gate/sockets.h"
#include "os/unix_socket.h"
#include "wire/vault_frame.h"

namespace cay::gate {
namespace {

constexpr std::uint16_t kPlainHttp = 80;
constexpr Millis kFirstRetry{10};
constexpr Millis kMostRetry{
    200};  // the broker waits for us with new rules (vault/broker.cc, kGateLimit)

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

// Success: the broker had begun to send.
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
    if (!frame)
      co_return Error{Code::kUnavailable, "vault_unavailable",
                      "the broker is gone: " + frame.error().message, 0};
    const auto told = wire::decode<wire::BrokerRoutes>(*frame);
    if (!told)
      co_return Error{Code::kUnavailable, "vault_unavailable",
                      "the broker sent a message that cannot be read", 0};
    if (told->all_told) {
      all_ = std::move(fresh);
      all_told = true;
      for (const auto& [id, routes] : all_) changed(id);
      continue;
    }
    put(all_told ? all_ : fresh, *told);
    if (all_told) changed(told->sandbox_id);
  }
}

void Handover::changed(const std::string& sandbox_id) const {
  if (on_change) on_change(sandbox_id);
}

void Handover::put(All& into, const wire::BrokerRoutes& told) {
  Routes routes;
  routes.base_url = told.base_url;
  for (const std::string& text : told.hosts) {
    if (const auto host = parse_proxy_host(text)) routes.hosts.push_back(*host);
  }
  for (const std::string& text : told.fences) {
    if (const auto host = parse_proxy_host(text)) routes.fences.push_back(*host);
  }
  if (routes.base_url || !routes.hosts.empty() || !routes.fences.empty()) {
    into[told.sandbox_id] = std::move(routes);
  } else {
    into.erase(told.sandbox_id);
  }
}

bool Handover::any(const std::string& sandbox_id,
                   const std::function<bool(const Routes&)>& is) const {
  return std::ranges::any_of(std::array{&all_, &written_}, [&](const All* from) {
    const auto found = from->find(sandbox_id);
    return found != from->end() && is(found->second);
  });
}

bool Handover::base_url(const std::string& sandbox_id) const {
  return any(sandbox_id, [](const Routes& routes) { return routes.base_url; });
}

bool Handover::any_at(const std::string& sandbox_id, std::uint16_t port) const {
  const auto here = [&](const ProxyHost& one) { return one.port == port; };
  return any(sandbox_id, [&](const Routes& routes) {
    return std::ranges::any_of(routes.hosts, here) || std::ranges::any_of(routes.fences, here);
  });
}

bool Handover::takes(const std::string& sandbox_id, std::string_view host,
                     std::uint16_t port) const {
  return any(sandbox_id, [&](const Routes& routes) {
    return std::ranges::any_of(routes.hosts,
                               [&](const ProxyHost& one) { return one.matches(host, port); });
  });
}

bool Handover::resolves(const std::string& sandbox_id, std::string_view host) const {
  return any(sandbox_id, [&](const Routes& routes) {
    return std::ranges::any_of(routes.hosts,
                               [&](const ProxyHost& one) { return one.matches(host, one.port); });
  });
}

bool Handover::knows(const std::string& sandbox_id, std::string_view host) const {
  const auto is_fenced = [&](const Routes& routes) {
    return std::ranges::any_of(routes.fences,
                               [&](const ProxyHost& one) { return one.matches(host, one.port); });
  };
  return resolves(sandbox_id, host) || any(sandbox_id, is_fenced);
}

bool Handover::any_fence(const std::string& sandbox_id) const {
  return any(sandbox_id, [](const Routes& routes) { return !routes.fences.empty(); });
}

bool Handover::any_fence_at(const std::string& sandbox_id, std::uint16_t port) const {
  const auto here = [&](const ProxyHost& one) { return one.port == port; };
  return any(sandbox_id,
             [&](const Routes& routes) { return std::ranges::any_of(routes.fences, here); });
}

bool Handover::fences(const std::string& sandbox_id, std::string_view host,
                      std::uint16_t port) const {
  return any(sandbox_id, [&](const Routes& routes) {
    return std::ranges::any_of(routes.fences,
                               [&](const ProxyHost& one) { return one.matches(host, port); });
  });
}

bool Handover::fenced_off(const std::string& sandbox_id, std::string_view host,
                          std::uint16_t port) const {
  const auto is_one = [&](const ProxyHost& one) {
    return one.matches(host, one.port) && (port == one.port || port == kPlainHttp);
  };
  return any(sandbox_id,
             [&](const Routes& routes) { return std::ranges::any_of(routes.fences, is_one); });
}

}  // namespace cay::gate
