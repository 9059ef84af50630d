// A dispatcher behind real sockets, so that what a client sees is what is tested; what it would
// write down is kept.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include "async/event.h"
#include "http/testing/loop_thread.h"
#include "http/testing/raw_client.h"
#include "server/dispatch.h"

namespace cay::server::testing {

using http::testing::RawClient;
using http::testing::TestServer;
using SharedExchange = std::shared_ptr<http::Exchange>;

inline asio::awaitable<void> who(SharedExchange exchange) {
  http::Response response;
  response.body = exchange->principal().key_name;
  for (const auto& [name, value] : exchange->params()) response.body += " " + name + "=" + value;
  co_await exchange->respond(std::move(response));
}

struct DispatchTest : ::testing::Test {
  http::Router router;
  KeyRing keys;
  std::mutex mutex;
  std::condition_variable written;
  std::vector<AccessRecord> records, begun_records;
  // `begun_at_act`: the beginnings that were logged when a handler acted.
  std::size_t asked = 0, begun_at_act = 0;
  http::Handler handler;
  std::unique_ptr<OpenRequests> open;
  std::unique_ptr<TestServer> server;
  std::promise<void> begun;
  std::unique_ptr<Event> release;

  PublicUrl public_url;
  std::function<void()> before_key;
  std::function<const http::Handler*(const http::RequestHead&)> by_host;
  std::uint32_t per_second = 0, strangers_per_second = 0, per_second_of_link = 0;

  void start(std::uint32_t max_per_key = 10) {
    ASSERT_TRUE(keys.add({"alice", "t1", hash_key("cay_secret")}));
    router.add("GET", "/boxes/{name}", who);
    router.add("DELETE", "/boxes/{name}", who);
    router.add("GET", "/look/{name}", who, Right::kReadOne);
    router.add("POST", "/drain", who, Right::kHost);
    ASSERT_TRUE(keys.add({.name = "reader",
                          .tenant = "t1",
                          .hash = hash_key("cay_read"),
                          .scope = KeyScope::kRead}));
    ASSERT_TRUE(keys.add({.name = "root",
                          .tenant = "t1",
                          .hash = hash_key("cay_admin"),
                          .scope = KeyScope::kAdmin}));
    constexpr const char* kMethods[] = {"GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"};
    http::Facade facade{.prefixes = {"/"}, .without_key = {"GET /healthz"}};
    for (const std::string method : kMethods)
      facade.without_key.push_back(method + " /link/{token}");
    router.declare(std::move(facade));
    router.add("GET", "/healthz", who, http::Auth::kNone);
    for (const char* method : kMethods) {
      router.add(method, "/act", [this](SharedExchange exchange) -> asio::awaitable<void> {
        note_act();
        co_await who(exchange);
      });
      // A link's own: it is let in where the handler finds the token good.
      router.add(
          method, "/link/{token}",
          [this](SharedExchange exchange) -> asio::awaitable<void> {
            if (exchange->params().at("token") == "good") {
              const auto in = exchange->let_in({http::Caller::Kind::kLink, "t1/link-1"});
              if (!in) {
                http::Response response;
                response.status = 429;
                response.body = in.error().reason;
                co_await exchange->respond(std::move(response));
                co_return;
              }
            }
            note_act();
            co_await who(exchange);
          },
          http::Auth::kOwn);
    }
    router.add("GET", "/throw", [](SharedExchange) -> asio::awaitable<void> {
      throw std::runtime_error("inside");
      co_return;
    });
    router.add("GET", "/named", [](SharedExchange exchange) -> asio::awaitable<void> {
      http::Response named;
      named.headers.add("X-Request-Id", "its-own");
      co_await exchange->respond(std::move(named));
    });
    router.add("GET", "/socket", [](SharedExchange exchange) -> asio::awaitable<void> {
      auto socket = co_await exchange->upgrade(1024);
      if (!socket) co_return;
      for (;;) {
        const auto message = co_await (*socket)->read();
        if (message.kind == http::WsMessage::Kind::kClosed || message.data == "leave") co_return;
        co_await (*socket)->close(1000, "done");
      }
    });
    router.add("GET", "/raw", [](SharedExchange exchange) -> asio::awaitable<void> {
      http::Headers headers;
      headers.add("Upgrade", "cay-tunnel");
      auto stream = co_await exchange->upgrade_raw(std::move(headers));
      if (!stream) co_return;
      const auto got = co_await (*stream)->read();
      if (!got) co_return;
      auto shut = co_await (*stream)->shut_write();
      static_cast<void>(shut);
    });
    router.add("GET", "/wait", [this](SharedExchange exchange) -> asio::awaitable<void> {
      begun.set_value();
      co_await release->wait();
      co_await who(exchange);
    });
    DispatchConfig config;
    config.max_per_key = max_per_key;
    config.public_url = public_url;
    config.before_key = before_key;
    config.by_host = by_host;
    config.per_second = per_second;
    config.strangers_per_second = strangers_per_second;
    config.per_second_of_link = per_second_of_link;
    config.begun = [this](const AccessRecord& record) {
      const std::lock_guard lock(mutex);
      begun_records.push_back(record);
      written.notify_all();
      return true;
    };
    config.log = [this](const AccessRecord& record) {
      const std::lock_guard lock(mutex);
      records.push_back(record);
      written.notify_all();
    };
    server = std::make_unique<TestServer>(
        [this](std::shared_ptr<http::Exchange> exchange) { return handler(std::move(exchange)); });
    server->thread().call([&] {
      open = std::make_unique<OpenRequests>(server->thread().loop().get_executor());
      config.open = open.get();
      handler = make_dispatcher(router, keys, std::move(config));
    });
    release = std::make_unique<Event>(server->thread().loop().get_executor());
  }
  ~DispatchTest() override {
    if (server) {
      server->thread().call([this] {
        release.reset();
        open.reset();
      });
    }
  }
  void note_act() {
    const std::lock_guard lock(mutex);
    begun_at_act = begun_records.size();
  }
  static std::string request(const std::string& line, const std::string& headers = "",
                             const std::string& host = "127.0.0.1") {
    return line + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n";
  }
  std::string ask(const std::string& line, const std::string& headers = "",
                  const std::string& host = "127.0.0.1") {
    ++asked;
    RawClient client(server->port());
    client.send(request(line, headers, host));
    return client.read_answer();
  }
  // A record is written when its handler has returned, just after the answer.
  AccessRecord last() {
    std::unique_lock lock(mutex);
    const bool all = written.wait_for(lock, std::chrono::seconds(10),
                                      [this] { return records.size() >= asked; });
    return all ? records.back() : AccessRecord();
  }
};

inline constexpr const char* kSocket =
    "X-Api-Key: cay_secret\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
    "13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
inline constexpr const char* kKey = "X-Api-Key: cay_secret\r\n";

}  // namespace cay::server::testing
