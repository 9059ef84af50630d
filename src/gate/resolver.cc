#include "gate/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <span>

#include "gate/counted.h"

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

}  // namespace

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

asio::awaitable<Resolved> Resolver::resolve(std::string name, const void* asker) {
  auto found = entries_.find(name);
  if (found == entries_.end() || found->second->good_until <= std::chrono::steady_clock::now()) {
    make_room();
    found = entries_.insert_or_assign(name, std::make_shared<Entry>(loop_)).first;
  }
  const auto entry = found->second;
  const Counted counted(entry->waiting);
  // One that waits for another's turn may be looked up at ours.
  if (!entry->begun) {
    askers_[asker].asked.emplace_back(name, entry);
    begin_some();
  }
  co_await entry->done.wait();
  co_return entry->result;
}

// The next after the last that has something to ask, and does not ask too much already.
Resolver::Askers::iterator Resolver::next_asker() {
  const auto may = [](const Askers::value_type& one) { return !one.second.asked.empty() && one.second.running < kMostOfOne; };
  const auto middle = askers_.upper_bound(last_);
  const auto behind = std::find_if(middle, askers_.end(), may);
  if (behind != askers_.end()) return behind;
  const auto before = std::find_if(askers_.begin(), middle, may);
  return before != middle ? before : askers_.end();
}

void Resolver::begin_some() {
  while (running_ < kThreads) {
    const auto at = next_asker();
    if (at == askers_.end()) return;
    begin(at);
  }
}

void Resolver::begin(Askers::iterator at) {
  last_ = at->first;
  auto [name, entry] = std::move(at->second.asked.front());
  at->second.asked.pop_front();
  if (entry->begun || entry->waiting == 0) {  // looked up at another's turn; or whoever asked is gone
    const auto kept = entries_.find(name);
    if (!entry->begun && kept != entries_.end() && kept->second == entry) entries_.erase(kept);
    if (at->second.asked.empty() && at->second.running == 0) askers_.erase(at);
    return;
  }
  entry->begun = true;
  ++running_;
  ++at->second.running;
  lookups_.spawn(look(std::move(name), std::move(entry), at->first));
}

// Belongs to nobody who asks: they may leave, and others wait for the same name.
asio::awaitable<void> Resolver::look(std::string name, std::shared_ptr<Entry> entry, const void* asker) {
  try {
    auto work = [this, name] { return how_(name); };
    auto looking = run_on_pool(pool_, std::move(work));
    entry->result = co_await std::move(looking);
  } catch (const std::exception&) {
    entry->result = {};
  }
  const bool good = entry->result.outcome == Resolved::Outcome::kFound;
  entry->good_until = std::chrono::steady_clock::now() + (good ? std::chrono::seconds(kKeepSeconds) : kKeepFailure);
  entry->done.set();
  --running_;
  const auto at = askers_.find(asker);
  if (--at->second.running == 0 && at->second.asked.empty()) askers_.erase(at);
  begin_some();
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
