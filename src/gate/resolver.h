// Resolver: names to addresses, by this host's own means (its hosts file, its resolver): a sandbox
// never chooses a server.
#pragma once
#include <chrono>
#include <compare>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/pool.h"
#include "async/scope.h"
#include "async/task.h"
#include "base/clock.h"
#include "base/ip_address.h"

namespace cay::gate {

struct Resolved {
  enum class Outcome { kFound, kNoName, kFailed } outcome = Outcome::kFailed;
  std::vector<IpAddress> addresses;  // both families
};

// Runs on a thread of its own, and is as slow as the name servers.
using LookUp = std::function<Resolved(const std::string& name)>;
Resolved look_up(const std::string& name);

class Resolver {
 public:
  static constexpr std::uint32_t kKeepSeconds =
      30;  // the C library reports no TTL: this one is used
  // Silent names must not make everybody wait, however many look them up.
  static constexpr unsigned kThreads = 16;
  static constexpr unsigned kMostOfOne = 4;  // lookups at once of one asker
  static constexpr unsigned kKept =
      4;  // threads for clients that run nothing, and looked up nothing slow

  explicit Resolver(asio::any_io_executor loop, LookUp how = look_up, Clock& clock = system_clock())
      : loop_(loop),
        how_(std::move(how)),
        clock_(&clock),
        lookups_(std::move(loop)),
        pool_(kThreads) {}

  // `asker` is a sandbox's id. All its connections count as one client, and answers are kept for it
  // alone: the speed of an answer would reveal what others looked up. A name that all need has the
  // empty id.
  asio::awaitable<Resolved> resolve(std::string name, std::string asker);

 private:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMost = 4096,
                               kMostNames = 256;   // that are kept: of all, and of one asker
  using Of = std::pair<std::string, std::string>;  // asker, name

  struct Entry {
    explicit Entry(asio::any_io_executor loop) : done(std::move(loop)) {}
    Event done;
    Resolved result;
    bool begun = false;
    std::size_t waiting = 0;
    Time good_until = Time::max();
  };
  struct Asker {
    std::deque<std::pair<std::string, std::shared_ptr<Entry>>> asked;  // not looked up yet
    unsigned running = 0;
    Time pays_until{};  // for lookups that took long
  };
  using Askers = std::map<std::string, Asker>;
  // The client with the least goes first.
  struct Rank {
    unsigned running = 0;
    Time pays_until{};
    auto operator<=>(const Rank&) const = default;
  };
  void begin_some();
  Askers::iterator next_asker();
  void begin(Askers::iterator at);
  asio::awaitable<void> look(std::string name, std::shared_ptr<Entry> entry, std::string asker);
  void charge(const std::string& asker, Time begun);
  void make_room(const std::string& asker);

  asio::any_io_executor loop_;
  LookUp how_;
  Clock* clock_;
  std::map<Of, std::shared_ptr<Entry>> entries_;
  Askers askers_;     // those that wait, whose lookups run, or who pay
  std::string last_;  // whose turn it was
  unsigned running_ = 0;
  Scope lookups_;
  Pool pool_;  // last: its threads end first
};

}  // namespace cay::gate
