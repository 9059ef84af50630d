// Relays whose sandbox's grant changes, over real sockets. The server never answers, so each
// request stays under way.
#include "vault/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/scope.h"
#include "async/testing.h"
#include "base/testing/tcp.h"
#include "http/testing/certificates.h"
#include "vault/server_connection.h"
#include "vault/testing/vault_fixture.h"

namespace cay::vault {
namespace {

using cay::testing::comes;
using testing::kId;
using testing::kOther;
using testing::kSecret;

constexpr const char* kToken = "cay-token-AAAA";

class RelayTest : public testing::VaultFixture {
 protected:
  RelayTest() {
    grants->on_change = [this](const wire::BrokerRoutes& routes) {
      asio::io_context judging;
      cay::testing::run<void>(
          judging,
          open.judge(routes.sandbox_id, [this, id = routes.sandbox_id] { return grants->of(id); }));
    };
    auto made = http::Tls::create("");
    EXPECT_TRUE(made);
    tls = *std::move(made);
    look_up_by([](const std::string&) {
      return gate::Resolved{gate::Resolved::Outcome::kFound, {*IpAddress::parse("127.0.0.1")}};
    });
  }
  void look_up_by(gate::LookUp how) {
    resolver = std::make_unique<gate::Resolver>(loop.get_executor(), std::move(how));
    house =
        std::make_unique<RelayHouse>(RelayHouse{loop.get_executor(), *keys, *grants, reachable,
                                                *resolver, proxy, *tls, open, encodings, memory});
  }
  ~RelayTest() override {
    for (const auto& one : scopes) one->cancel();
    turns([this] { return running() == 0; });
  }

  void turns(const std::function<bool()>& until) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!until() && std::chrono::steady_clock::now() < end) {
      loop.restart();
      loop.run_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(until());
  }
  std::size_t running() const {
    std::size_t out = 0;
    for (const auto& one : scopes) out += one->running();
    return out;
  }
  void some_turns() {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(50));
  }

  wire::VaultGrant rules(ProxyWay way, const std::string& value = kSecret,
                         const std::string& id = kId) const {
    wire::VaultGrant out = grant(id, way, "api.test:" + std::to_string(server.port()), value);
    out.rules[0].token = kToken;
    return out;
  }
  // A guest's connection of way base_url, handed over.
  UniqueFd handed(const std::string& id = kId) {
    cay::testing::TcpPair tcp;
    gate::on_close(tcp.ours.get(), gate::OnClose::kReset);
    gates.emplace_back(::fcntl(tcp.ours.get(), F_DUPFD_CLOEXEC, 0));  // as the gate keeps it
    wire::BrokerHello hello;
    hello.flow = true;
    hello.sandbox_id = id;
    hello.port = 80;
    hello.buffers = hello_buffers;
    const Tell tell = [this](const wire::BrokerWord& word) {
      told.push_back(word.reason), last_word = word;
    };
    Scope& scope = *scopes.emplace_back(std::make_unique<Scope>(loop.get_executor()));
    scope.spawn(
        relay(*house, std::move(hello), std::move(tcp.ours), tell, [&scope] { scope.cancel(); }));
    some_turns();
    EXPECT_EQ(running(), gates.size());
    return std::move(tcp.theirs);
  }
  // Until the server has heard of it.
  UniqueFd ask(const UniqueFd& guest) {
    const std::string text =
        std::string("GET /r/x HTTP/1.1\r\nHost: 192.0.0.3\r\nX-Api-Key: ") + kToken + "\r\n\r\n";
    EXPECT_EQ(::send(guest.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    UniqueFd asked;
    turns([&] {
      if (!asked) asked = server.accept_now(SOCK_NONBLOCK);
      return static_cast<bool>(asked);
    });
    turns([&] {
      pollfd at{asked.get(), POLLIN, 0};
      return ::poll(&at, 1, 0) == 1;
    });
    return asked;
  }

  static asio::awaitable<void> shake(http::Channel& server, bool& shaken) {
    http::ErrorCode error;
    co_await server.secured()->async_handshake(asio::ssl::stream_base::server, http::to(error));
    shaken = !error;
  }

  asio::io_context loop;
  http::testing::Authority authority{"outside"};
  const cay::testing::Listener server;
  OpenRelays open;
  EncodingCache encodings;
  const gate::SocketMemory memory{0, 0, gate::KernelBuffers::of_host()};
  gate::Reachable reachable{{*Network::parse("127.0.0.1")}};
  std::unique_ptr<gate::Resolver> resolver;
  gate::UpstreamProxy proxy;
  std::unique_ptr<http::Tls> tls;
  std::unique_ptr<RelayHouse> house;
  std::vector<UniqueFd> gates;
  std::uint8_t hello_buffers = gate::told(gate::Buffers::kWide);
  std::vector<std::string> told;
  wire::BrokerWord last_word;
  std::vector<std::unique_ptr<Scope>> scopes;  // of each relay
};

TEST_F(RelayTest, ARequestThatIsUnderWayStaysWithItsRuleAndIsCutBeforeTheRulesRemovalReturns) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  const UniqueFd guest = handed();
  const UniqueFd asked = ask(guest);
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  ASSERT_TRUE(keys->begin_rotation());
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl))) << "sealed by another key";
  some_turns();
  EXPECT_EQ(comes(guest, 0), -1) << "the same rule, the same value";
  EXPECT_EQ(running(), 1U);
  EXPECT_TRUE(grants->revoke({kId}));
  EXPECT_EQ(comes(guest, 1000), ECONNRESET);
  EXPECT_EQ(told, std::vector<std::string>{"rule_changed"});
  turns([this] { return running() == 0; });
  EXPECT_EQ(told.size(), 1U) << "and its end is told once";
  comes(asked, 1000);  // the first bytes of TLS
  EXPECT_NE(comes(asked, 1000), -1) << "the server is let go";
}

TEST_F(RelayTest, AnotherValueOfTheSecretCutsWhatTheOldOneOpened) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  const UniqueFd guest = handed();
  const UniqueFd asked = ask(guest);
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl, "sk-live-of-today")));
  EXPECT_EQ(comes(guest, 1000), ECONNRESET);
  turns([this] { return running() == 0; });
}

TEST_F(RelayTest, OneThatAsksNothingStaysWhileAnyRuleIsForItAndOthersSandboxesAreLeftAlone) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl, kSecret, kOther)));
  const UniqueFd guest = handed(), other = handed(kOther);
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl, "sk-live-of-today")));
  some_turns();
  EXPECT_EQ(comes(guest, 0), -1);
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kHeaders)));
  EXPECT_EQ(comes(guest, 1000), ECONNRESET);
  turns([this] { return running() == 1; });
  some_turns();
  EXPECT_EQ(comes(other, 0), -1);
  EXPECT_EQ(running(), 1U);
}

TEST_F(RelayTest, ABodyWhereServersReadNoneIsRefusedBeforeAnyIsAsked) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  std::size_t refused = 0;  // until now
  for (const char* method : {"GET", "HEAD", "TRACE"}) {
    for (const char* body : {"Content-Length: 3\r\n\r\nabc",
                             "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
      const UniqueFd guest = handed();
      const std::string text = std::string(method) +
                               " /r/x HTTP/1.1\r\nHost: 192.0.0.3\r\nX-Api-Key: " + kToken +
                               "\r\n" + body;
      ASSERT_EQ(::send(guest.get(), text.data(), text.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(text.size()));
      turns([this] { return running() == 0; });
      ASSERT_GT(told.size(), refused) << method;
      EXPECT_EQ(told[refused], "bad_request") << method;
      refused = told.size();
      char answer[512] = {};
      EXPECT_GT(::recv(guest.get(), answer, sizeof answer - 1, 0), 0);
      EXPECT_TRUE(std::string_view(answer).starts_with("HTTP/1.1 400 ")) << answer;
      EXPECT_FALSE(server.accept_now()) << method;
      gates.pop_back();
    }
  }
}

TEST_F(RelayTest, WhereABodyEndsIsToldInOneWayThatIsKnownOrNobodyIsAsked) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  const auto head = [](const std::string& version, const std::string& framing) {
    return "POST /r/x HTTP/" + version + "\r\nHost: 192.0.0.3\r\nX-Api-Key: " + kToken + "\r\n" +
           framing + "\r\n\r\n";
  };
  const std::string second =
      "GET /r/second HTTP/1.1\r\nHost: 192.0.0.3\r\nX-Api-Key: " + std::string(kToken) + "\r\n\r\n";
  for (const char* coding : {"xchunked", "gzip, chunked", "chunked, gzip", "chunked, chunked",
                             "identity", "chunked\r\nTransfer-Encoding: gzip", "chunked;q=1"}) {
    told.clear();
    const UniqueFd guest = handed();
    const std::string text = head("1.1", std::string("Transfer-Encoding: ") + coding) + second;
    ASSERT_EQ(::send(guest.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    turns([this] { return !told.empty(); });
    some_turns();
    EXPECT_EQ(told, std::vector<std::string>{"bad_request"})
        << coding << ": and what follows is no request";
    std::string got(4096, '\0');
    got.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::recv(guest.get(), got.data(), got.size(), 0), 0)));
    EXPECT_TRUE(got.starts_with("HTTP/1.1 400 ")) << coding << got;
    EXPECT_FALSE(server.accept_now()) << coding;
    gates.pop_back();
    scopes.back()->cancel();
    turns([this] { return running() == 0; });
  }
  told.clear();
  const UniqueFd old = handed();
  const std::string text = head("1.0", "Transfer-Encoding: chunked");
  ASSERT_EQ(::send(old.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
  turns([this] { return !told.empty(); });
  EXPECT_EQ(told.front(), "bad_request");
  gates.pop_back();
  scopes.back()->cancel();
  turns([this] { return running() == 0; });
  // The control: the one that is known.
  const UniqueFd guest = handed();
  const std::string fine = head("1.1", "Transfer-Encoding: Chunked") + "0\r\n\r\n";
  ASSERT_EQ(::send(guest.get(), fine.data(), fine.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(fine.size()));
  UniqueFd asked;
  turns([&] {
    if (!asked) asked = server.accept_now(SOCK_NONBLOCK);
    return static_cast<bool>(asked);
  });
}

TEST_F(RelayTest, WhatIsNoRequestOrHasTooManyHeadersIsRefusedAndNoted) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  std::string many =
      std::string("GET /r/x HTTP/1.1\r\nHost: 192.0.0.3\r\nX-Api-Key: ") + kToken + "\r\n";
  for (int i = 0; i < 126; ++i) many += "A:\r\n";
  for (const std::string& text : {many + "A:\r\n\r\n", std::string("garbage\r\n\r\n"),
                                  std::string("PRI * HTTP/2.0\r\n\r\n")}) {
    told.clear();
    const UniqueFd guest = handed();
    EXPECT_EQ(::send(guest.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    turns([this] { return !told.empty(); });
    EXPECT_EQ(told.front(), "bad_request") << text.substr(0, 20);
    gates.pop_back();
  }
  EXPECT_FALSE(server.accept_now());
  const UniqueFd guest = handed();
  const std::string fine = many + "\r\n";
  EXPECT_EQ(::send(guest.get(), fine.data(), fine.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(fine.size()));
  UniqueFd asked;
  turns([&] {
    if (!asked) asked = server.accept_now(SOCK_NONBLOCK);
    return static_cast<bool>(asked);
  });
}

TEST_F(RelayTest, ARequestOfWhichNothingMovesEndsAndIsToldSo) {
  house->most_still = Millis(200);
  tls->context().load_verify_file(authority.file());
  const std::string pem = authority.sign("DNS:api.test");
  asio::ssl::context context(asio::ssl::context::tls_server);
  context.use_certificate_chain_file(pem);
  context.use_private_key_file(pem, asio::ssl::context::pem);
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  const UniqueFd guest = handed();
  UniqueFd asked = ask(guest);
  http::Channel server(transport_of(loop.get_executor(), std::move(asked)),
                       context);  // it never sends anything
  Scope serving(loop.get_executor());
  bool shaken = false;
  serving.spawn(shake(server, shaken));
  turns([&] { return shaken; });
  turns([this] { return told.size() == 2; });
  EXPECT_EQ(told, (std::vector<std::string>{"", "no_answer"}))
      << "it was asked, and did not answer";
  std::string got(4096, '\0');
  got.resize(static_cast<std::size_t>(
      std::max<ssize_t>(::recv(guest.get(), got.data(), got.size(), 0), 0)));
  EXPECT_TRUE(got.starts_with("HTTP/1.1 502 ")) << got;
  EXPECT_NE(got.find("X-Cay-Error: no_answer"), std::string::npos) << got;
  serving.cancel();
  turns([&] { return serving.running() == 0; });
}

TEST_F(RelayTest, ARefusedRequestOfABaseUrlIsToldWithItsRuleAndItsHost) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  const UniqueFd guest = handed();
  const auto refused = [&](const std::string& text) {
    told.clear();
    EXPECT_EQ(::send(guest.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    turns([this] { return !told.empty(); });
    std::string got(4096, '\0');
    got.resize(static_cast<std::size_t>(
        std::max<ssize_t>(::recv(guest.get(), got.data(), got.size(), 0), 0)));
    return got.substr(0, got.find("\r\n"));
  };
  EXPECT_EQ(refused("GET /r/x HTTP/1.1\r\nHost: 192.0.0.3\r\nX-Api-Key: wrong\r\n\r\n"),
            "HTTP/1.1 401 Not the token that this sandbox's proxy rule wants");
  EXPECT_EQ(last_word.reason, "token_unknown");
  EXPECT_EQ(last_word.rule, "r");
  EXPECT_EQ(last_word.host, "api.test");
  EXPECT_EQ(last_word.port, server.port());
  EXPECT_EQ(last_word.address, "");
  EXPECT_EQ(refused("GET /nosuch;/x HTTP/1.1\r\nHost: 192.0.0.3\r\n\r\n"),
            "HTTP/1.1 403 Not allowed by this sandbox's proxy rules");
  EXPECT_EQ(last_word.reason, "no_such_rule");
  EXPECT_EQ(last_word.rule, "nosuch?");
  EXPECT_EQ(last_word.host, "");
  EXPECT_EQ(last_word.port, 80);
}

TEST_F(RelayTest, TheServersSocketHasTheBuffersThatTheGateCounted) {
  std::vector<UniqueFd> guests, servers;
  const auto receive_buffer_of = [&](std::uint8_t buffers) {
    hello_buffers = buffers;
    guests.push_back(handed());
    servers.push_back(ask(guests.back()));
    const UniqueFd& asked = servers.back();
    sockaddr_in name{};
    socklen_t size = sizeof name;
    EXPECT_EQ(::getpeername(asked.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
    for (int fd = 3; fd < 1024; ++fd) {  // the broker's end of it, in this process
      sockaddr_in own{};
      size = sizeof own;
      if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
          own.sin_family != AF_INET || own.sin_port != name.sin_port)
        continue;
      int out = 0;
      size = sizeof out;
      EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &out, &size), 0);
      return out;
    }
    return 0;
  };
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  EXPECT_EQ(receive_buffer_of(gate::told(gate::Buffers::kTiny)), 2 * 8 * 1024);
  EXPECT_EQ(receive_buffer_of(gate::told(gate::Buffers::kNarrow)), 2 * 64 * 1024);
  EXPECT_EQ(receive_buffer_of(0), 2 * 64 * 1024) << "of an older gate";
}

TEST_F(RelayTest, ConnectionsOfOneSandboxShareWhatItMayLookUpAtOnce) {
  std::promise<void> answered;
  const auto asked = std::make_shared<std::atomic<unsigned>>(0);
  look_up_by([asked, gone = answered.get_future().share()](const std::string&) {
    ++*asked;
    gone.wait();
    return gate::Resolved{};
  });
  const auto rules_of = [this](const std::string& id) {
    wire::VaultGrant out = grant(id, ProxyWay::kBaseUrl);
    out.rules.clear();
    for (unsigned i = 0; i < gate::Resolver::kMostOfOne + 2; ++i) {
      wire::VaultRule rule =
          grant(id, ProxyWay::kBaseUrl, id + "-" + std::to_string(i) + ".test").rules[0];
      rule.name = "r" + std::to_string(i);
      rule.token = kToken;
      out.rules.push_back(std::move(rule));
    }
    return out;
  };
  std::vector<UniqueFd> guests;
  const auto ask_for = [&](unsigned number, const std::string& id) {
    const UniqueFd& guest = guests.emplace_back(handed(id));
    const std::string text = "GET /r" + std::to_string(number) +
                             "/x HTTP/1.1\r\nHost: 192.0.0.3\r\nX-Api-Key: " + kToken + "\r\n\r\n";
    EXPECT_EQ(::send(guest.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  };
  for (const char* id : {kId, kOther}) ASSERT_TRUE(grants->grant(rules_of(id)));
  for (unsigned i = 0; i < gate::Resolver::kMostOfOne + 2; ++i) ask_for(i, kId);
  turns([&] { return *asked >= gate::Resolver::kMostOfOne; });
  some_turns();
  EXPECT_EQ(*asked, gate::Resolver::kMostOfOne);
  ask_for(0, kOther);
  turns([&] { return *asked == gate::Resolver::kMostOfOne + 1; });
  answered.set_value();
  turns([&] { return *asked == gate::Resolver::kMostOfOne + 3; });
}

TEST_F(RelayTest, ConnectionsOfOneSandboxShareWhatTheyLookFor) {
  ASSERT_TRUE(grants->grant(rules(ProxyWay::kBaseUrl)));
  std::vector<UniqueFd> guests, servers;
  for (int i = 0; i < 3; ++i) {
    guests.push_back(handed());
    servers.push_back(ask(guests.back()));
    EXPECT_EQ(encodings.size(), 1U);
  }
  EXPECT_TRUE(grants->revoke({kId}));
  turns([this] { return running() == 0; });
}

}  // namespace
}  // namespace cay::vault
