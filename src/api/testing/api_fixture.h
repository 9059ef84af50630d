// The facades over a real core with fake ports: a test sends requests through the router's table.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "api/testing/fake_exchange.h"
#include "async/testing.h"
#include "codec/json.h"
#include "core/make_core.h"
#include "core/testing/fake_images.h"
#include "core/testing/fake_runtime.h"
#include "core/testing/fake_store.h"
#include "core/testing/fake_vault.h"
#include "core/testing/manual_clock.h"
#include "core/testing/run.h"
#include "http/router.h"

namespace cay::api::testing {

using core::testing::FakeProgram;
using ExchangeHandle = std::shared_ptr<FakeExchange>;

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() : runtime(loop.get_executor(), clock) {
    core::CoreConfig config;
    config.vault = &vault;
    config.images = &images;
    config.timing.last_boots = std::chrono::milliseconds(20);
    cay = core::make_core(loop.get_executor(), runtime, store, clock, std::move(config));
    EXPECT_TRUE(core::testing::run(loop, cay->open([](std::string) {})));
  }
  ~ApiTest() override { EXPECT_TRUE(core::testing::run(loop, cay->close(false))); }

  ExchangeHandle exchange(const std::string& method, const std::string& target,
                          std::string body = {}) {
    auto out = std::make_shared<FakeExchange>(loop.get_executor(), method, target);
    out->request_body = std::move(body);
    return out;
  }

  // Begins the exchange and runs all ready handlers. `done` shows whether it ended.
  struct Running {
    ExchangeHandle exchange;
    std::shared_ptr<core::testing::Started<void>> started;
    bool done() const { return started->done(); }
  };
  Running begin(ExchangeHandle handle) {
    const auto match = router.match(handle->request);
    EXPECT_NE(match.route, nullptr) << handle->request.method << " " << handle->request.target;
    handle->path_params = match.params;
    last_pattern = match.route->pattern;
    return {handle, core::testing::start<void>(loop, as_task(match.route->handler(handle)))};
  }
  void settle() { core::testing::drain(loop); }
  // Runs it to its end; exactly one answer.
  ExchangeHandle serve(ExchangeHandle handle) {
    auto running = begin(handle);
    EXPECT_TRUE(core::testing::finish<void>(loop, *running.started));
    EXPECT_EQ(handle->answers, 1) << handle->request.method << " " << handle->request.target;
    answered(*handle);
    return handle;
  }
  ExchangeHandle call(const std::string& method, const std::string& target, std::string body = {}) {
    return serve(exchange(method, target, std::move(body)));
  }
  codec::json::object json(const ExchangeHandle& handle) {
    auto got = codec::parse_object(handle->answer_body);
    EXPECT_TRUE(got) << handle->answer_body;
    return got ? *std::move(got) : codec::json::object();
  }

  // For checks on every answer, such as whether it is documented.
  virtual void answered(const FakeExchange&) {}

  core::testing::FakeCommands& commands() { return runtime.only_box().fake_commands(); }
  core::testing::FakeFiles& files() { return runtime.only_box().fake_files(); }

  // The only sandbox dies unasked.
  void die(const std::string& reason) {
    const SandboxId id = runtime.alive.begin()->first;
    runtime.die(id, reason);
  }

  asio::io_context loop;
  core::testing::ManualClock clock;
  core::testing::FakeRuntime runtime;
  core::testing::FakeStore store;
  core::testing::FakeVault vault;
  core::testing::FakeImages images{loop.get_executor()};
  std::unique_ptr<core::Cay> cay;
  http::Router router;
  std::string last_pattern;

 private:
  static Task<void> as_task(asio::awaitable<void> work) {
    co_await std::move(work);
    co_return Result<void>();
  }
};

}  // namespace cay::api::testing
