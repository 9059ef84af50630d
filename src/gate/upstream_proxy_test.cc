#include "gate/upstream_proxy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <future>
#include <optional>
#include <stdexcept>

#include "async/spawn.h"

namespace cay::gate {
namespace {

// A proxy for one connection: takes a request's head, answers, and gives the head.
class OneProxy {
 public:
  explicit OneProxy(std::string answer)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), size) != 0 ||
        ::listen(listener_.get(), 1) != 0)
      throw std::runtime_error("listen");
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
    asked = std::async(std::launch::async, [this, answer = std::move(answer)] {
      const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::string head;
      char byte = 0;
      while (!head.ends_with("\r\n\r\n") && ::recv(client.get(), &byte, 1, 0) == 1)
        head.push_back(byte);
      static_cast<void>(::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL));
      return head;
    });
  }
  std::uint16_t port = 0;
  std::future<std::string> asked;

 private:
  UniqueFd listener_;
};

ProxySettings settings(std::uint16_t port = 3128) {
  ProxySettings out;
  out.host = "127.0.0.1";
  out.port = port;
  out.authorization = "Basic dTpw";
  out.not_for = {".corp.example", "10.0.0.0/8", "45.45.45.0/24", "exact.example"};
  return out;
}

IpAddress address(const char* text) { return *IpAddress::parse(text); }

Result<UpstreamProxy::Opened> opened_by(const UpstreamProxy& proxy, std::string host, Endpoint to) {
  asio::io_context loop;
  Resolver resolver(loop.get_executor());
  std::optional<Result<UpstreamProxy::Opened>> out;
  const auto story = [&]() -> asio::awaitable<void> {
    auto opened =
        co_await proxy.open(loop.get_executor(), resolver, host, to, BufferSizes{}, Millis{5'000});
    out = std::move(opened);
  };
  spawn(loop.get_executor(), "the test", story());
  loop.run();
  return *std::move(out);
}

TEST(UpstreamProxyTest, WhatTheOperatorNamesAndWhatIsSpecialGoesDirectly) {
  const UpstreamProxy proxy(settings());
  const auto outside = address("93.184.216.34");
  EXPECT_TRUE(proxy.takes("example.com", outside));
  EXPECT_TRUE(proxy.takes("", outside)) << "an address without a name";
  EXPECT_TRUE(proxy.takes("notcorp.example", outside));
  for (const char* host : {"corp.example", "git.corp.example", "exact.example", "127.0.0.1"})
    EXPECT_FALSE(proxy.takes(host, outside)) << host;
  EXPECT_FALSE(proxy.takes("example.com", address("45.45.45.45")));
  EXPECT_FALSE(proxy.takes("example.com", address("192.168.1.1"))) << "opened for the gate itself";
  EXPECT_TRUE(proxy.takes("example.com", UpstreamProxy::stand_ins().address));
  ProxySettings all = settings();
  all.not_for = {"*"};
  EXPECT_FALSE(UpstreamProxy(all).takes("example.com", outside));
  EXPECT_FALSE(UpstreamProxy().takes("example.com", outside));
}

TEST(UpstreamProxyTest, NamesThatThisHostDoesNotKnowHaveAStandIn) {
  const LookUp own = [](const std::string& name) {
    if (name == "known.example")
      return Resolved{Resolved::Outcome::kFound, {address("93.184.216.34")}};
    return Resolved{Resolved::Outcome::kNoName, {}};
  };
  const auto look = UpstreamProxy(settings()).look_up(own);
  EXPECT_EQ(look("known.example").addresses.front(), address("93.184.216.34"));
  EXPECT_EQ(look("git.corp.example").outcome, Resolved::Outcome::kNoName);
  const auto one = look("one.example"), other = look("other.example");
  ASSERT_EQ(one.outcome, Resolved::Outcome::kFound);
  EXPECT_TRUE(UpstreamProxy::stand_ins().contains(one.addresses.front()));
  EXPECT_NE(one.addresses, other.addresses);
  EXPECT_EQ(one.addresses, look("one.example").addresses);
  EXPECT_EQ(UpstreamProxy().look_up(own)("one.example").outcome, Resolved::Outcome::kNoName);
}

TEST(UpstreamProxyTest, AConnectionIsAskedForByNameAndWhatCameBehindTheAnswerIsKept) {
  OneProxy server(
      "HTTP/1.1 200 Connection established\r\nContent-Length: 7\r\nX-A: b\r\n\r\n220 hello");
  auto opened = opened_by(UpstreamProxy(settings(server.port)), "mail.example",
                          {UpstreamProxy::stand_ins().address, 25});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->early, "220 hello");
  EXPECT_EQ(server.asked.get(),
            "CONNECT mail.example:25 HTTP/1.1\r\nHost: mail.example:25\r\nProxy-Authorization: "
            "Basic dTpw\r\n\r\n");
}

TEST(UpstreamProxyTest, AnAddressIsAskedForAsSuch) {
  OneProxy server("HTTP/1.0 200 OK\r\n\r\n");
  ProxySettings plain = settings(server.port);
  plain.authorization.clear();
  ASSERT_TRUE(opened_by(UpstreamProxy(plain), "", {address("2606:2800::1"), 443}));
  EXPECT_EQ(server.asked.get(),
            "CONNECT [2606:2800::1]:443 HTTP/1.1\r\nHost: [2606:2800::1]:443\r\n\r\n");
}

TEST(UpstreamProxyTest, WhatIsNoConsentIsToldForWhatItIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: "
       "0\r\n\r\n",
       "proxy_refused"},
      {"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\n\r\n", "proxy_refused"},
      {"SSH-2.0-OpenSSH\r\n", "proxy_bad_answer"},
      {"HTTP/1.1 200", "proxy_bad_answer"},
      {"", "proxy_bad_answer"},
  };
  for (const auto& [answer, reason] : cases) {
    OneProxy server(answer);
    auto opened = opened_by(UpstreamProxy(settings(server.port)), "one.example",
                            {UpstreamProxy::stand_ins().address, 443});
    ASSERT_FALSE(opened) << answer;
    EXPECT_EQ(opened.error().reason, reason) << answer;
    EXPECT_EQ(opened.error().message.find("dTpw"), std::string::npos);
  }
  std::string endless = "HTTP/1.1 200 OK\r\n";
  while (endless.size() < 64 * 1024) endless += "X: y\r\n";
  OneProxy server(endless);
  EXPECT_EQ(opened_by(UpstreamProxy(settings(server.port)), "one.example",
                      {UpstreamProxy::stand_ins().address, 443})
                .error()
                .reason,
            "proxy_bad_answer");
  EXPECT_EQ(opened_by(UpstreamProxy(settings(1)), "one.example",
                      {UpstreamProxy::stand_ins().address, 443})
                .error()
                .reason,
            "proxy_unreachable");
}

TEST(UpstreamProxyTest, AStandInWithoutANameLeadsNowhere) {
  auto opened =
      opened_by(UpstreamProxy(settings(1)), "", {UpstreamProxy::stand_ins().address, 443});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().reason, "unreachable");
}

}  // namespace
}  // namespace cay::gate
