// Every request before its handler: guards, keys, routes.
#include "server/testing/dispatch_fixture.h"

namespace cay::server::testing {
namespace {

TEST_F(DispatchTest, BothKindsOfKeyAreTaken) {
  start();
  EXPECT_TRUE(ask("GET /boxes/a%2Fb", kKey).ends_with("\r\n\r\nalice name=a/b"));
  EXPECT_TRUE(
      ask("GET /boxes/b", "authorization: bearer cay_secret\r\n").ends_with("alice name=b"));
}

TEST_F(DispatchTest, WithoutAGoodKeyNothingIsTold) {
  start();
  for (const char* headers :
       {"", "X-Api-Key: wrong\r\n", "Authorization: Basic cay_secret\r\n", "X-Api-Key:\r\n"}) {
    for (const char* line : {"GET /boxes/b", "GET /nowhere", "POST /boxes/b"}) {
      const auto answer = ask(line, headers);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << line << headers << answer;
      EXPECT_NE(answer.find("WWW-Authenticate: Bearer"), std::string::npos);
      EXPECT_EQ(answer.find("wrong"), std::string::npos);
    }
  }
  EXPECT_TRUE(ask("GET /healthz").starts_with("HTTP/1.1 200 "));
}

TEST_F(DispatchTest, RefusalsNameTheirReason) {
  start();
  ask("GET /boxes/b", "X-Api-Key: wrong\r\n");
  EXPECT_EQ(last().reason, "unknown_key");
  ask("GET /healthz", "", "evil.example");
  EXPECT_EQ(last().reason, "wrong_host");
  EXPECT_EQ(last().status, 421);
  ask("GET /healthz", "Origin: https://evil.example\r\n");
  EXPECT_EQ(last().reason, "cross_origin");
  ask("POST /drain", kKey);
  EXPECT_EQ(last().reason, "scope_too_small");
  ask("POST /boxes/b", kKey);
  EXPECT_EQ(last().reason, "method_not_allowed");
  ask("GET /boxes/b", kKey);
  EXPECT_EQ(last().reason, "");
}

TEST_F(DispatchTest, ASmallKeyOpensLittle) {
  start();
  constexpr const char* kReader = "X-Api-Key: cay_read\r\n";
  constexpr const char* kAdmin = "X-Api-Key: cay_admin\r\n";
  EXPECT_TRUE(ask("GET /look/b", kReader).ends_with("reader name=b"));
  // A route that names no right needs much.
  const auto refused = ask("GET /boxes/b", kReader);
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
  EXPECT_NE(refused.find("scope_too_small"), std::string::npos);
  EXPECT_EQ(last().principal, "reader");
  EXPECT_TRUE(ask("POST /drain", kReader).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask("POST /drain", kKey).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask("POST /drain", kAdmin).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask("GET /boxes/b", kAdmin).starts_with("HTTP/1.1 200 "));
}

TEST_F(DispatchTest, UnknownRoutesAndMethods) {
  start();
  EXPECT_TRUE(ask("GET /nowhere?x=1", kKey).starts_with("HTTP/1.1 404 "));
  const auto answer = ask("POST /boxes/b", kKey);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 "));
  EXPECT_NE(answer.find("Allow: GET, DELETE\r\n"), std::string::npos);
}

TEST_F(DispatchTest, ReboundNamesAndForeignPagesAreRefused) {
  start();
  EXPECT_TRUE(ask("GET /healthz", "", "evil.example").starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(ask("GET http://evil.example/healthz").starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(ask("GET http://localhost/healthz", "", "evil.example").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask("GET /healthz", "Origin: https://evil.example\r\n").starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask("GET /boxes/b", std::string("Origin: https://evil.example\r\n") + kKey)
                  .starts_with("HTTP/1.1 200 "));
}

TEST_F(DispatchTest, ARingThatChangesIsLookedAtAnew) {
  bool removed = false;
  before_key = [&] {
    if (removed) keys = KeyRing();
  };
  start();
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 200 "));
  removed = true;
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 401 "));
}

TEST_F(DispatchTest, RequestIdsThatCouldHarmAreReplaced) {
  start();
  for (const std::string& bad : {std::string("a b"), std::string("a\"b"), std::string(65, 'a')}) {
    const auto answer = ask("GET /healthz", "X-Request-Id: " + bad + "\r\n");
    EXPECT_EQ(answer.find("X-Request-Id: " + bad + "\r\n"), std::string::npos);
    EXPECT_NE(answer.find("X-Request-Id: "), std::string::npos);
  }
}

TEST_F(DispatchTest, WhatIsAtWorkEndsWithItsKey) {
  start();
  ASSERT_TRUE(keys.add({"bob", "t1", hash_key("cay_other")}));
  const auto take_away = [this](const char* name, const char* hash) {
    server->thread().call([&] {
      KeyRing left;
      for (const auto& record : keys.records()) {
        if (record.name != name) ASSERT_TRUE(left.add(record));
      }
      // One of the same name is another key.
      if (hash != nullptr) ASSERT_TRUE(left.add({name, "t1", hash_key(hash)}));
      keys = left;
      open->end_without_key(keys);
    });
  };
  RawClient waiting(server->port());
  waiting.send(request("GET /wait", kKey));
  begun.get_future().wait();
  take_away("bob", nullptr);
  server->thread().call([this] { release->notify(); });
  EXPECT_TRUE(waiting.read_answer().starts_with("HTTP/1.1 200 ")) << "the control: another's key";

  begun = std::promise<void>();
  waiting.send(request("GET /wait", kKey));
  begun.get_future().wait();
  take_away("alice", "cay_new");
  const auto answer = waiting.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("the API key was removed"), std::string::npos) << answer;
  EXPECT_TRUE(ask("GET /boxes/a", "X-Api-Key: cay_new\r\n").starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace cay::server::testing
