#include "gate/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <span>

#include "gate/counted.h"

namespace cay::gate {
namespace {

constexpr std::chrono::seconds kKeepFailure{3};
// A client whose lookup took too long goes behind the others for a multiple of that time, up to a
// limit. However many sandboxes look up silent names, they stand behind the rest from the second
// round on.
constexpr std::chrono::seconds kQuick{1};
constexpr int kPaysTimes = 10;
constexpr std::chrono::minutes kPaysAtMost{5};
constexpr std::size_t kMostAddresses = 32;  // of one name

std::optional<IpAddress> address_of(const addrinfo& info) {
  if (info.ai_family == AF_INET) {
    const auto* at = reinterpret_cast<const sockaddr_in*>(info.ai_addr);
    return IpAddress::v4(
        std::span<const std::uint8_t, 4>(reinterpret_cast<const std::uint8_t*>(&at->sin_addr), 4));
  }
  if (info.ai_family == AF_INET6) {
    const auto* at = reinterpret_cast<const sockaddr_in6*>(info.ai_addr);
    return IpAddress::v6(std::span<const std::uint8_t, 16>(at->sin6_addr.s6_addr));
  }
  return std::nullopt;
}

}  // namespace

Resolved look_up(const std::string& name) {
  // Read again each time: the host's servers may change. No search list: a sandbox's name is a
  // whole one.
  if (::res_init() == 0) {
    // Never over TCP: the C library has no time limit for it, so the owner of a zone could hold a
    // thread forever. An answer that is cut at 1,200 bytes is taken as it is, some seventy
    // addresses.
    _res.options &=
        ~static_cast<unsigned long>(RES_DNSRCH | RES_DEFNAMES | RES_USEVC | RES_STAYOPEN);
    _res.options |= RES_IGNTC | RES_USE_EDNS0;
    _res.options |= RES_NORELOAD;  // or the second lookup of a thread goes by the file again, and
                                   // ignores these
    // Silent servers hold a thread for four seconds, and three of them for six. So does one that
    // answers A alone, which is queried again.
    _res.retrans = _res.nscount > 1 ? 1 : 2;
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
  for (const addrinfo* at = list; at != nullptr && out.addresses.size() < kMostAddresses;
       at = at->ai_next) {
    const auto address = address_of(*at);
    if (address && std::ranges::find(out.addresses, *address) == out.addresses.end())
      out.addresses.push_back(*address);
  }
  ::freeaddrinfo(list);
  out.outcome = out.addresses.empty() ? Resolved::Outcome::kNoName : Resolved::Outcome::kFound;
  return out;
}

asio::awaitable<Resolved> Resolver::resolve(std::string name, std::string asker) {
  const Of of(asker, name);
  auto found = entries_.find(of);
  if (found == entries_.end() || found->second->good_until <= clock_->steady()) {
    make_room(asker);
    found = entries_.insert_or_assign(of, std::make_shared<Entry>(loop_)).first;
  }
  const auto entry = found->second;
  const Counted counted(entry->waiting);
  if (!entry->begun) {
    askers_[asker].asked.emplace_back(name, entry);
    begin_some();
  }
  co_await entry->done.wait();
  co_return entry->result;
}

// Chooses among the clients that wait and have a free share. The one with the fewest running goes
// first, then the one in the least debt, then the next after the last.
Resolver::Askers::iterator Resolver::next_asker() {
  const auto now = clock_->steady();
  const bool only_kept = running_ >= kThreads - kKept;
  const unsigned most = only_kept ? 1 : kMostOfOne;
  auto best = askers_.end();
  Rank least;
  const auto look_at = [&](Askers::iterator from, Askers::iterator to) {
    for (; from != to; ++from) {
      const Asker& one = from->second;
      if (one.asked.empty() || one.running >= most || (only_kept && one.pays_until > now)) continue;
      const Rank rank{one.running, std::max(one.pays_until, now)};
      if (best != askers_.end() && rank >= least) continue;
      best = from;
      least = rank;
    }
  };
  const auto middle = askers_.upper_bound(last_);
  look_at(middle, askers_.end());
  look_at(askers_.begin(), middle);
  return best;
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
  if (entry->begun || entry->waiting == 0) {  // wanted twice, or its client is gone
    const auto kept = entries_.find(Of(at->first, name));
    if (!entry->begun && kept != entries_.end() && kept->second == entry) entries_.erase(kept);
    if (at->second.asked.empty() && at->second.running == 0 &&
        at->second.pays_until <= clock_->steady())
      askers_.erase(at);
    return;
  }
  entry->begun = true;
  ++running_;
  ++at->second.running;
  lookups_.spawn(look(std::move(name), std::move(entry), at->first));
}

// Belongs to no single connection: that may end while others of its sandbox wait for the same name.
asio::awaitable<void> Resolver::look(std::string name, std::shared_ptr<Entry> entry,
                                     std::string asker) {
  const auto begun = clock_->steady();
  try {
    auto work = [this, name] { return how_(name); };
    auto looking = run_on_pool(pool_, std::move(work));
    entry->result = co_await std::move(looking);
  } catch (const std::exception&) {
    entry->result = {};
  }
  const bool good = entry->result.outcome == Resolved::Outcome::kFound;
  entry->good_until = clock_->steady() + (good ? std::chrono::seconds(kKeepSeconds) : kKeepFailure);
  entry->done.set();
  --running_;
  charge(asker, begun);
  begin_some();
}

// Forgets a client that runs nothing, waits for nothing and owes nothing.
void Resolver::charge(const std::string& asker, Time begun) {
  const auto now = clock_->steady();
  Asker& one = askers_.at(asker);
  --one.running;
  if (now - begun > kQuick)
    one.pays_until =
        std::min(std::max(one.pays_until, now) + kPaysTimes * (now - begun), now + kPaysAtMost);
  std::erase_if(askers_, [now](const auto& item) {
    return item.second.asked.empty() && item.second.running == 0 && item.second.pays_until <= now;
  });
}

void Resolver::make_room(const std::string& asker) {
  const auto now = clock_->steady();
  const auto is_old = [now](const auto& item) { return item.second->good_until <= now; };
  // All of them fresh: those that are done may go; they are looked up again.
  const auto is_done = [](const auto& item) { return item.second->done.is_set(); };
  const auto begin = entries_.lower_bound(Of(asker, ""));
  const auto end = std::find_if(begin, entries_.end(),
                                [&](const auto& item) { return item.first.first != asker; });
  if (static_cast<std::size_t>(std::distance(begin, end)) >= kMostNames) {
    for (auto at = begin; at != end;) at = is_done(*at) ? entries_.erase(at) : std::next(at);
  }
  if (entries_.size() >= kMost) std::erase_if(entries_, is_old);
  if (entries_.size() >= kMost) std::erase_if(entries_, is_done);
}

}  // namespace cay::gate
