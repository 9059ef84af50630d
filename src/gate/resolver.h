// Resolver: names to addresses, by this host's own means (its hosts file, its resolver): a sandbox never chooses a server.
#pragma once
#include <chrono>
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
#include "base/ip_address.h"

namespace cay::gate {

struct Resolved {
  enum class Outcome { kFound, kNoName, kFailed } outcome = Outcome::kFailed;
  std::vector<IpAddress> addresses;  // both families
};

// On a thread of its own, and as slow as the servers that it asks.
using LookUp = std::function<Resolved(const std::string& name)>;
Resolved look_up(const std::string& name);

class Resolver {
 public:
  static constexpr std::uint32_t kKeepSeconds = 30;  // the C library tells no TTL: this is told, and kept
  static constexpr unsigned kThreads = 8;
  static constexpr unsigned kMostOfOne = 4;  // lookups at once of one asker: names that nobody answers must not be everybody's wait

  explicit Resolver(asio::any_io_executor loop, LookUp how = look_up) : loop_(loop), how_(std::move(how)), lookups_(std::move(loop)), pool_(kThreads) {}

  // Those who ask for a name that is being looked up wait for the same answer. Askers take turns: `asker` tells them apart.
  asio::awaitable<Resolved> resolve(std::string name, const void* asker);

 private:
  static constexpr std::size_t kMost = 4096;

  struct Entry {
    explicit Entry(asio::any_io_executor loop) : done(std::move(loop)) {}
    Event done;
    Resolved result;
    bool begun = false;
    std::size_t waiting = 0;
    std::chrono::steady_clock::time_point good_until = std::chrono::steady_clock::time_point::max();
  };
  struct Asker {
    std::deque<std::pair<std::string, std::shared_ptr<Entry>>> asked;  // not looked up yet
    unsigned running = 0;
  };
  using Askers = std::map<const void*, Asker>;
  void begin_some();
  Askers::iterator next_asker();
  void begin(Askers::iterator at);
  asio::awaitable<void> look(std::string name, std::shared_ptr<Entry> entry, const void* asker);
  void make_room();

  asio::any_io_executor loop_;
  LookUp how_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  Askers askers_;  // those that wait, or whose lookups run
  const void* last_ = nullptr;  // whose turn it was
  unsigned running_ = 0;
  Scope lookups_;
  Pool pool_;  // last: its threads end first
};

}  // namespace cay::gate
