#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <exception>
#include <vector>

#include "methods.h"
#include "samples.h"

namespace cay::bench {
namespace {

struct Lives {
  std::vector<std::uint64_t> in_second;  // how many ended in each second of the run
  Samples samples;
};

Awaitable<void> worker(Session& at, const std::string& sandbox, const std::string& command,
                       Moment begin, Moment until, Lives& lives) {
  while (now() < until) {
    const auto born = now();
    try {
      const auto made = co_await at.call("POST", "/api/v1/sandboxes", sandbox);
      const std::string id(made.at("id").as_string());
      co_await at.run(id, command);
      co_await at.call("DELETE", sandbox_path(id), {});
      lives.samples.add(microseconds_since(born));
      const auto second = static_cast<std::size_t>(
          std::chrono::duration_cast<std::chrono::seconds>(now() - begin).count());
      if (lives.in_second.size() <= second) lives.in_second.resize(second + 1);
      ++lives.in_second[second];
    } catch (const Failed& error) {
      lives.samples.fail(error.why);
    } catch (const std::exception& error) {
      lives.samples.fail(error.what());
    }
  }
}

}  // namespace

// Settings: "seconds", "clients", "sandbox" and "command" (the requests).
Awaitable<json::object> churn(Session& at) {
  const auto sandbox = at.body("sandbox", "{}");
  const auto command = at.body("command", R"({"argv":["/bin/echo","hi"],"wait":true})");
  const auto clients = at.number("clients", 4);
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer all_ended(executor, asio::steady_timer::time_point::max());
  Lives lives;
  const auto begin = now();
  const auto until = begin + std::chrono::seconds(at.number("seconds", 10));
  auto left = clients;
  for (std::uint64_t i = 0; i < clients; ++i) {
    asio::co_spawn(executor, worker(at, sandbox, command, begin, until, lives),
                   [&](std::exception_ptr) {
                     if (--left == 0) all_ended.cancel();
                   });
  }
  boost::system::error_code ended;
  co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  auto out = lives.samples.report();
  const auto done = out.at("microseconds").as_array().size();
  out["per_second"] = static_cast<double>(done) * 1e6 / microseconds_since(begin);
  out["in_second"] = json::array(lives.in_second.begin(), lives.in_second.end());
  co_return out;
}

}  // namespace cay::bench
