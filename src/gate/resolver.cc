#include "gate/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <span>

namespace cay::gate {
namespace {

constexpr std::chrono::seconds kKeepFailure{3};
constexpr std::size_t kMostAddresses = 32;  // of one name

std::optional<IpAddress> address_of(const addrinfo& info) {
  if (info.ai_family == AF_INET) {
    const auto* at = reinterpret_cast<const sockaddr_in*>(info.ai_addr);
    return IpAddress::v4(std::span<const std::uint8_t, 4>(reinterpret_cast<const std::uint8_t*>(&at->sin_addr), 4));
  }
  if (info.ai_family == AF_INET6) {
    const auto* at = reinterpret_cast<const sockaddr_in6*>(info.ai_addr);
    return IpAddress::v6(std::span<const std::uint8_t, 16>(at->sin6_addr.s6_addr));
  }
  return std::nullopt;
}

// On a thread of the pool.
Resolved look_up(const std::string& name) {
  // Read again each time: the host's servers may change. No search list: a sandbox's name is a whole one.
  if (::res_init() == 0) {
    _res.options &= ~static_cast<unsigned long>(RES_DNSRCH | RES_DEFNAMES);
    _res.retrans = 2;
    _res.retry = 2;
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  Resolved out;
  const int failed = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (failed == EAI_NONAME || failed == EAI_NODATA) out.outcome = Resolved::Outcome::kNoName;
  if (failed != 0) return out;
  for (const addrinfo* at = list; at != nullptr && out.addresses.size() < kMostAddresses; at = at->ai_next) {
    const auto address = address_of(*at);
    if (address && std::ranges::find(out.addresses, *address) == out.addresses.end()) out.addresses.push_back(*address);
  }
  ::freeaddrinfo(list);
  out.outcome = out.addresses.empty() ? Resolved::Outcome::kNoName : Resolved::Outcome::kFound;
  return out;
}

}  // namespace

asio::awaitable<Resolved> Resolver::resolve(std::string name) {
  const auto found = entries_.find(name);
  if (found != entries_.end() && found->second->good_until > std::chrono::steady_clock::now()) {
    const auto entry = found->second;
    co_await entry->done.wait();
    co_return entry->result;
  }
  make_room();
  const auto entry = std::make_shared<Entry>(loop_);
  entries_[name] = entry;
  auto work = [name] { return look_up(name); };
  auto result = co_await run_on_pool(pool_, std::move(work));
  entry->result = std::move(result);
  const bool good = entry->result.outcome == Resolved::Outcome::kFound;
  entry->good_until = std::chrono::steady_clock::now() + (good ? std::chrono::seconds(kKeepSeconds) : kKeepFailure);
  entry->done.set();
  co_return entry->result;
}

void Resolver::make_room() {
  if (entries_.size() < kMost) return;
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(entries_, [now](const auto& item) { return item.second->good_until <= now; });
  // All of them fresh: those that are done may go; they are looked up again.
  if (entries_.size() >= kMost) {
    std::erase_if(entries_, [](const auto& item) { return item.second->done.is_set(); });
  }
}

}  // namespace cay::gate
