// Resolver: names to addresses, by this host's own means (its hosts file, its resolver): a sandbox never chooses a server.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/pool.h"
#include "async/task.h"
#include "base/ip_address.h"

namespace cay::gate {

struct Resolved {
  enum class Outcome { kFound, kNoName, kFailed } outcome = Outcome::kFailed;
  std::vector<IpAddress> addresses;  // both families
};

class Resolver {
 public:
  static constexpr std::uint32_t kKeepSeconds = 30;  // the C library tells no TTL: this is told, and kept

  explicit Resolver(asio::any_io_executor loop) : loop_(std::move(loop)), pool_(kThreads) {}

  // Those who ask for a name that is being looked up wait for the same answer.
  asio::awaitable<Resolved> resolve(std::string name);

 private:
  static constexpr unsigned kThreads = 8;
  static constexpr std::size_t kMost = 4096;

  struct Entry {
    explicit Entry(asio::any_io_executor loop) : done(std::move(loop)) {}
    Event done;
    Resolved result;
    std::chrono::steady_clock::time_point good_until = std::chrono::steady_clock::time_point::max();
  };
  void make_room();

  asio::any_io_executor loop_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  Pool pool_;  // last: its threads end first
};

}  // namespace cay::gate
