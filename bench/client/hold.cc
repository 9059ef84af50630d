#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <iostream>
#include <vector>

#include <unistd.h>

#include "methods.h"
#include "samples.h"

namespace cay::bench {
namespace {

struct Held {
  std::vector<std::string> ids;
  Samples samples;
  std::uint64_t asked = 0;
};

Awaitable<void> maker(Session& at, const std::string& sandbox, std::uint64_t count, Held& held) {
  while (held.asked < count) {
    ++held.asked;
    const auto begin = now();
    try {
      const auto made = co_await at.call("POST", "/api/v1/sandboxes", sandbox);
      held.ids.emplace_back(made.at("id").as_string());
      held.samples.add(microseconds_since(begin));
    } catch (const std::exception& error) {
      held.samples.fail(error.what());
    }
  }
}

}  // namespace

// Settings: "count", "clients", "sandbox" (the request). Prints "ready" when all are made.
Awaitable<json::object> hold(Session& at) {
  const auto sandbox = at.body("sandbox", "{}");
  const auto count = at.number("count", 100), clients = at.number("clients", 4);
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer all_ended(executor, asio::steady_timer::time_point::max());
  Held held;
  auto left = clients;
  const auto begin = now();
  for (std::uint64_t i = 0; i < clients; ++i) {
    asio::co_spawn(executor, maker(at, sandbox, count, held), [&](std::exception_ptr) {
      if (--left == 0) all_ended.cancel();
    });
  }
  boost::system::error_code ignored;
  co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  const double made_in = microseconds_since(begin);
  std::cout << "ready" << std::endl;
  asio::posix::stream_descriptor input(executor, ::dup(STDIN_FILENO));
  char byte = 0;
  co_await input.async_read_some(asio::buffer(&byte, 1),
                                 asio::redirect_error(asio::use_awaitable, ignored));
  for (const auto& id : held.ids) co_await at.call("DELETE", sandbox_path(id), {});
  auto out = held.samples.report();
  out["per_second"] = static_cast<double>(held.ids.size()) * 1e6 / made_in;
  co_return out;
}

}  // namespace cay::bench
