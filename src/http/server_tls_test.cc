// The listener with TLS: real handshakes, with our client and with raw sockets.
#include "http/server_tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "async/deadline.h"
#include "base/testing/temp_dir.h"
#include "http/client.h"
#include "http/testing/certificates.h"
#include "http/testing/loop_thread.h"
#include "http/testing/raw_client.h"

namespace cay::http {
namespace {

using testing::LoopThread;
using testing::RawClient;
using testing::TestServer;
using SharedExchange = std::shared_ptr<Exchange>;

asio::awaitable<void> tell(SharedExchange exchange) {
  if (exchange->head().wants_websocket) {
    auto socket = co_await exchange->upgrade(1 << 20);
    if (!socket) co_return;
    auto message = co_await (*socket)->read();
    auto sent = co_await (*socket)->send_text("back: " + message.data);
    static_cast<void>(sent);
    co_await (*socket)->close(1000, "");
    co_return;
  }
  auto body = co_await exchange->read_body(16 << 20);
  Response response;
  response.status = 200;
  response.body =
      exchange->head().scheme + " " + (body ? std::to_string(body->size()) : body.error().reason);
  co_await exchange->respond(std::move(response));
}

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

class ServerTlsTest : public ::testing::Test {
 protected:
  // As an operator's tool renews it: another file under the same name.
  void install(const std::string& pem) {
    for (const auto& path : {files.chain, files.key}) {
      std::ofstream(path + ".new") << content(pem);
      std::filesystem::rename(path + ".new", path);
    }
  }
  std::unique_ptr<TestServer> serve(Handler handler = tell) {
    auto made =
        ServerTls::create(files, [this](const std::string& text) { logged.push_back(text); });
    EXPECT_TRUE(made) << made.error().message;
    ListenerConfig config;
    config.tls = *made;
    return std::make_unique<TestServer>(std::move(handler), std::move(config));
  }
  Result<std::unique_ptr<Client>> client(const TestServer& server, const std::string& ca_file) {
    ClientOptions options;
    options.url = "https://localhost:" + std::to_string(server.port());
    options.ca_file = ca_file;
    return Client::create(mine.loop().get_executor(), std::move(options));
  }
  Result<Response> ask(const TestServer& server, const std::string& ca_file,
                       std::string body = {}) {
    auto made = client(server, ca_file);
    if (!made) return made.error();
    ClientRequest request;
    request.method = "PUT";
    request.target = "/";
    request.body = std::move(body);
    return mine.await(answer(**made, std::move(request)));
  }
  static asio::awaitable<Result<Response>> answer(Client& from, ClientRequest request) {
    auto got = co_await from.request(std::move(request), 1 << 20);
    co_return got;
  }

  testing::Authority first{"First authority"};
  testing::Authority second{"Second authority"};
  LoopThread mine;
  const cay::testing::TempDir directory;
  const CertificateFiles files{directory.path() + "/cert.pem", directory.path() + "/key.pem"};
  std::vector<std::string> logged;
};

TEST_F(ServerTlsTest, RequestsBodiesAndWebSocketsGoThrough) {
  install(first.sign("DNS:localhost"));
  const auto server = serve();
  auto got = ask(*server, first.file(), std::string(5 << 20, 'x'));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, "https 5242880");
  auto untrusted = ask(*server, second.file());
  ASSERT_FALSE(untrusted);
  EXPECT_EQ(untrusted.error().reason, "tls_untrusted");

  auto made = client(*server, first.file());
  ASSERT_TRUE(made);
  const auto talk = [&]() -> asio::awaitable<std::string> {
    auto opened = co_await (*made)->websocket("/ws", {}, 1 << 20);
    if (!opened) co_return opened.error().message;
    auto& socket = opened->socket;
    if (!socket) co_return "refused";
    auto sent = co_await socket->send_text("hello");
    static_cast<void>(sent);
    auto message = co_await socket->read();
    co_return message.data;
  };
  EXPECT_EQ(mine.await(talk()), "back: hello");
}

// The part of TLS that a client may keep for a later connection. It reads an answer first, so that
// all that the server sends by itself has come.
struct Kept {
  int tickets = 0;
  std::string answer;
};
Kept sessions_of(std::uint16_t port, int version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), version);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT);
  SSL_CTX_sess_set_new_cb(context.get(), [](SSL* ssl, SSL_SESSION* session) {
    if (SSL_SESSION_is_resumable(session) == 1)
      ++static_cast<Kept*>(SSL_get_app_data(ssl))->tickets;
    return 0;
  });
  RawClient raw(port);
  Kept kept;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_app_data(ssl.get(), &kept);
  SSL_set_fd(ssl.get(), raw.fd());
  EXPECT_EQ(SSL_connect(ssl.get()), 1);
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  EXPECT_EQ(SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())),
            static_cast<int>(request.size()));
  kept.answer.resize(4096);
  kept.answer.resize(
      static_cast<std::size_t>(std::max(0, SSL_read(ssl.get(), kept.answer.data(), 4096))));
  return kept;
}

TEST_F(ServerTlsTest, NoSessionIsGivenToResume) {
  install(first.sign("DNS:localhost"));
  const auto server = serve();
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Kept kept = sessions_of(server->port(), version);
    EXPECT_TRUE(kept.answer.starts_with("HTTP/1.1 200 ")) << kept.answer;
    EXPECT_EQ(kept.tickets, 0) << version;
  }
}

TEST_F(ServerTlsTest, PlainHttpIsToldWhatIsWrong) {
  install(first.sign("DNS:localhost"));
  const auto server = serve();
  RawClient plain(server->port());
  plain.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = plain.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_NE(answer.find("https://"), std::string::npos);
  RawClient noise(server->port());
  noise.send(std::string("\x16\x03\x01\xff\xff", 5) + std::string(1000, '\xff'));
  noise.read_to_end();  // it ends
  EXPECT_TRUE(ask(*server, first.file()));
}

TEST_F(ServerTlsTest, ANewCertificateIsTakenAndABadOneIsNot) {
  install(first.sign("DNS:localhost"));
  const auto server = serve();
  ASSERT_TRUE(ask(*server, first.file()));
  install(second.sign("DNS:localhost"));
  Result<Response> got;
  for (int i = 0; i < 200 && !got; ++i) {  // it is looked at once a second
    got = ask(*server, second.file());
    if (!got) ::usleep(50'000);
  }
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_FALSE(ask(*server, first.file()));
  const std::size_t before = logged.size();
  std::ofstream(files.chain) << "no certificate";
  for (int i = 0; i < 200 && logged.size() == before; ++i) {
    EXPECT_TRUE(ask(*server, second.file()));
    ::usleep(50'000);
  }
  ASSERT_GT(logged.size(), before);
  EXPECT_NE(logged.back().find("the last good one stays"), std::string::npos) << logged.back();
  EXPECT_TRUE(ask(*server, second.file()));
}

// A renewal that wrote them with the wrong mode is mended by a chmod, which changes no byte, size
// or time of writing.
TEST_F(ServerTlsTest, FilesThatBecomeReadableAreTaken) {
  constexpr uid_t kNobody = 65534;  // root reads everything
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  install(first.sign("DNS:localhost"));
  auto made = ServerTls::create(files, [this](const std::string& text) { logged.push_back(text); });
  ASSERT_TRUE(made) << made.error().message;
  const auto before = (*made)->context();
  auto now = before;
  const auto look_until = [&](const std::function<bool()>& seen) {
    for (int i = 0; i < 200 && !seen(); ++i) {  // it is looked at once a second
      const bool root = ::geteuid() == 0;
      if (root) {
        ASSERT_EQ(::seteuid(kNobody), 0);
      }
      now = (*made)->context();
      if (root) {
        ASSERT_EQ(::seteuid(0), 0);
      }
      ::usleep(50'000);
    }
  };
  install(second.sign("DNS:localhost"));
  ASSERT_EQ(::chmod(files.key.c_str(), 0), 0);
  look_until([&] { return !logged.empty(); });
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_EQ(now, before) << logged.back();
  ASSERT_EQ(::chmod(files.key.c_str(), 0644), 0);
  look_until([&] { return now != before; });
  EXPECT_NE(now, before) << "the new ones";
}

TEST_F(ServerTlsTest, FilesThatCannotBeUsedAreRefused) {
  const auto refused = [this] {
    const auto made = ServerTls::create(files, nullptr);
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().reason;
  };
  EXPECT_EQ(refused(), "bad_certificate");
  install(first.sign("DNS:localhost"));
  EXPECT_TRUE(ServerTls::create(files, nullptr));
  std::ofstream(files.key) << content(second.sign("DNS:localhost"));
  EXPECT_EQ(refused(), "bad_certificate");
}

TEST_F(ServerTlsTest, AClientThatGoesCancelsItsRequest) {
  install(first.sign("DNS:localhost"));
  std::promise<void> begun, gone;
  const auto server = serve([&](SharedExchange) -> asio::awaitable<void> {
    begun.set_value();
    try {
      co_await sleep_for(Millis{600'000});
    } catch (...) {
      gone.set_value();
      throw;
    }
  });
  {
    LoopThread theirs;
    ClientOptions options;
    options.url = "https://localhost:" + std::to_string(server->port());
    options.ca_file = first.file();
    auto made = Client::create(theirs.loop().get_executor(), std::move(options));
    ASSERT_TRUE(made);
    ClientRequest request;
    request.method = "GET";
    request.target = "/";
    const auto ignored =
        asio::co_spawn(theirs.loop(), answer(**made, std::move(request)), asio::use_future);
    begun.get_future().wait();
  }
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(ServerTlsTest, ACertificateOfOurOwn) {
  const std::vector<std::string> names{"localhost", "*.cay.example", "127.0.0.1", "::1"};
  auto made = ensure_own_certificate(files, names, {"192.0.2.1"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(*made);
  struct stat info{};
  ASSERT_EQ(::stat(files.key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  EXPECT_FALSE(*ensure_own_certificate(files, names, {}));
  EXPECT_FALSE(*ensure_own_certificate(files, {"192.0.2.1"}, {}));
  {
    const auto server = serve();
    auto got = ask(*server, files.chain);
    EXPECT_TRUE(got) << got.error().message;
    EXPECT_FALSE(ask(*server, first.file()));
  }
  EXPECT_TRUE(*ensure_own_certificate(files, {"localhost", "cay.example"}, {}));
  // For all addresses of the host: such a one names 0.0.0.0, and so another listen address is seen.
  const std::vector<std::string> anywhere{"localhost", "0.0.0.0", "::"};
  EXPECT_TRUE(*ensure_own_certificate(files, anywhere, {"192.0.2.1", "*.localhost"}));
  EXPECT_FALSE(*ensure_own_certificate(files, anywhere, {"192.0.2.2"}))
      << "addresses change, and clients trust the file";
  EXPECT_FALSE(*ensure_own_certificate(files, {"192.0.2.1"}, {}));
  EXPECT_TRUE(*ensure_own_certificate(files, {"192.0.2.2"}, {}));
  std::ofstream(files.chain) << "damaged";
  EXPECT_TRUE(*ensure_own_certificate(files, names, {}));
}

}  // namespace
}  // namespace cay::http
