#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "methods.h"
#include "samples.h"

namespace cay::bench {
namespace {

struct Runs {
  Samples samples;
  std::uint64_t done = 0;
};

// One client: a command after the other, until `count` are done or `until` has come.
Awaitable<void> client(Session& at, const std::string& sandbox, const std::string& command,
                       std::uint64_t count, Moment until, Runs& runs) {
  const std::chrono::milliseconds gap(at.number("gap_ms", 0));
  for (std::uint64_t i = 0; i < count && now() < until; ++i) {
    if (gap.count() != 0) {
      asio::steady_timer pause(at.loop, gap);
      co_await pause.async_wait(asio::use_awaitable);
    }
    const auto begin = now();
    try {
      co_await at.run(sandbox, command);
      runs.samples.add(microseconds_since(begin));
      ++runs.done;
    } catch (const Failed& error) {
      runs.samples.fail(error.why);
    } catch (const std::exception& error) {
      runs.samples.fail(error.what());
    }
  }
}

}  // namespace

// Settings: "sandbox" (its id), "command", "warm", "clients", "gap_ms" (a pause before each), and
// "count" of each client or "seconds" of all.
Awaitable<json::object> exec(Session& at) {
  const auto sandbox = at.text("sandbox", "");
  const auto command = at.body("command", R"({"argv":["/bin/true"],"wait":true})");
  const auto seconds = at.number("seconds", 0);
  const auto count = at.number("count", seconds == 0 ? 100 : ~std::uint64_t{0});
  auto left = at.number("clients", 1);
  Runs warm, runs;
  co_await client(at, sandbox, command, at.number("warm", 3), Moment::max(), warm);
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer all_ended(executor, asio::steady_timer::time_point::max());
  const auto begin = now();
  const auto until = seconds == 0 ? Moment::max() : begin + std::chrono::seconds(seconds);
  const auto clients = left;
  for (std::uint64_t i = 0; i < clients; ++i) {
    asio::co_spawn(executor, client(at, sandbox, command, count, until, runs),
                   [&](std::exception_ptr) {
                     if (--left == 0) all_ended.cancel();
                   });
  }
  boost::system::error_code ended;
  co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  auto out = runs.samples.report();
  out["per_second"] = static_cast<double>(runs.done) * 1e6 / microseconds_since(begin);
  co_return out;
}

}  // namespace cay::bench
