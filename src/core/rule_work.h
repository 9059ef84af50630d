// RuleWork: work on rules for a client, off the daemon's loop, for a policy may be large and a
// report long. One at a time for each tenant, so a busy tenant waits for itself. The work owns what
// it uses.
#pragma once
#include <boost/asio/this_coro.hpp>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "async/mutex.h"
#include "async/pool.h"
#include "model/ids.h"

namespace cay::core {

class RuleWork {
 public:
  template <class Fn>
  asio::awaitable<std::invoke_result_t<Fn>> run(TenantId tenant, Fn work) {
    const auto loop = co_await asio::this_coro::executor;
    Mutex& turns = turns_.try_emplace(std::move(tenant), loop).first->second;
    const auto turn = co_await turns.lock();
    if (!pool_) pool_.emplace(kThreads);
    auto done = co_await run_on_pool(*pool_, std::move(work));
    co_return done;
  }

 private:
  static constexpr unsigned kThreads = 2;  // a tenant's report, and still one for the others

  std::map<TenantId, Mutex> turns_;
  std::optional<Pool> pool_;  // made when it is first needed
};

}  // namespace cay::core
