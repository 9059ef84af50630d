#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <vector>

#include "cay/error.h"
#include "codec/json.h"
#include "methods.h"
#include "samples.h"

namespace cay::bench {
namespace {

// Settings: "count", "warm" (not counted), "mode" (sequential, staggered or burst), "gap_ms",
// "sandbox" (the request to make one), "command" (the request to run).
class Creation {
 public:
  explicit Creation(Session& at)
      : at_(at),
        sandbox_(at.body("sandbox", "{}")),
        command_(at.body("command", R"({"argv":["/bin/echo","hi"],"wait":true})")) {}

  // One sandbox, from the request to its first output. It is kept for remove_all().
  Awaitable<void> one() {
    std::string id;
    const auto begin = now();
    try {
      const auto made = co_await at_.call("POST", "/api/v1/sandboxes", sandbox_);
      id = std::string(made.at("id").as_string());
      made_.push_back(id);
      const double ready = microseconds_since(begin);
      co_await at_.run(id, command_);
      output_.add(microseconds_since(begin));
      ready_.add(ready);
    } catch (const Failed& error) {
      output_.fail(error.why);
    } catch (const std::exception& error) {
      output_.fail(error.what());
    }
    last_ = now();
  }

  Awaitable<void> remove_all() {
    for (const auto& id : std::exchange(made_, {}))
      co_await at_.call("DELETE", sandbox_path(id), {});
  }

  // Many at the same time, each begun `gap` after the one before. Ends when all have ended.
  Awaitable<void> many(std::uint64_t count, std::chrono::milliseconds gap) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer all_ended(executor, asio::steady_timer::time_point::max());
    asio::steady_timer wait(executor);
    std::uint64_t left = count;
    auto next = now();
    begin_ = next;
    for (std::uint64_t i = 0; i < count; ++i) {
      asio::co_spawn(executor, one(), [&](std::exception_ptr) {
        if (--left == 0) all_ended.cancel();
      });
      if (gap.count() == 0) continue;
      next += gap;
      wait.expires_at(next);
      co_await wait.async_wait(asio::use_awaitable);
    }
    boost::system::error_code ended;
    if (left != 0) co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  }

  Awaitable<void> in_sequence(std::uint64_t count) {
    begin_ = now();
    for (std::uint64_t i = 0; i < count; ++i) {
      co_await one();
      co_await remove_all();
    }
  }

  Awaitable<void> warm(std::uint64_t count) {
    co_await in_sequence(count);
    output_ = ready_ = Samples();
  }

  json::object report() const {
    auto out = output_.report();
    out["ready"] = ready_.report();
    out["wall_us"] = std::chrono::duration<double, std::micro>(last_ - begin_).count();
    return out;
  }

 private:
  Session& at_;
  const std::string sandbox_, command_;
  Samples output_, ready_;
  std::vector<std::string> made_;
  Moment begin_, last_;
};

}  // namespace

Awaitable<json::object> create(Session& at) {
  Creation work(at);
  const auto count = at.number("count", 100);
  const auto mode = at.text("mode", "sequential");
  co_await work.warm(at.number("warm", 1));
  if (const auto pause = at.number("settle_ms", 0); pause != 0) {
    asio::steady_timer timer(at.loop, std::chrono::milliseconds(pause));
    co_await timer.async_wait(asio::use_awaitable);
  }
  if (mode == "sequential") {
    co_await work.in_sequence(count);
  } else {
    const auto gap = mode == "staggered" ? at.number("gap_ms", 200) : 0;
    co_await work.many(count, std::chrono::milliseconds(gap));
    co_await work.remove_all();
  }
  co_return work.report();
}

}  // namespace cay::bench
