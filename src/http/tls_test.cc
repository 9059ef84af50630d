// The client against a TLS server: trusted and untrusted ones, and the reason that it reports.
#include "http/tls.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <thread>

#include "async/testing.h"
#include "http/client.h"
#include "http/testing/certificates.h"

namespace cay::http {
namespace {

using asio::ip::tcp;
using cay::testing::run;

// Answers one connection after the other on a thread. A request gets "hello", and a WebSocket an
// echo. /cut gets a body without a declared end, broken off without the end of TLS.
class TlsServer {
 public:
  explicit TlsServer(const std::string& pem) : context_(asio::ssl::context::tls_server) {
    context_.use_certificate_chain_file(pem);
    context_.use_private_key_file(pem, asio::ssl::context::pem);
    acceptor_ = tcp::acceptor(loop_, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    thread_ = std::thread([this] { serve(); });
  }
  ~TlsServer() {
    stopping_ = true;
    if (const int fd = serving_; fd >= 0)
      ::shutdown(fd, SHUT_RDWR);  // a connection that the client keeps
    ErrorCode ignored;
    tcp::socket wake(loop_);
    wake.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  std::string port() { return std::to_string(acceptor_.local_endpoint().port()); }
  std::string server_name;  // of the last client's SNI; read after its answer came

 private:
  using Stream = beast::ssl_stream<tcp::socket>;

  void serve() {
    while (true) {
      tcp::socket socket(loop_);
      acceptor_.accept(socket);
      serving_ = socket.native_handle();
      if (stopping_) return;
      Stream stream(std::move(socket), context_);
      ErrorCode error;
      stream.handshake(asio::ssl::stream_base::server, error);
      if (!error) converse(stream);
      serving_ = -1;
    }
  }
  void converse(Stream& stream) {
    beast::flat_buffer buffer;
    ErrorCode error;
    while (true) {
      beast::http::request<beast::http::string_body> request;
      beast::http::read(stream, buffer, request, error);
      if (error) return;
      const char* name = SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name);
      server_name = name == nullptr ? "" : name;
      if (beast::websocket::is_upgrade(request)) return echo(stream, request);
      if (request.target() == "/cut") {
        const std::string begun = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of ";
        asio::write(stream, asio::buffer(begun), error);
        stream.next_layer().shutdown(tcp::socket::shutdown_both, error);
        return;
      }
      beast::http::response<beast::http::string_body> response(beast::http::status::ok, 11,
                                                               "hello " + request.body());
      response.prepare_payload();
      beast::http::write(stream, response, error);
    }
  }
  static void echo(Stream& stream, const beast::http::request<beast::http::string_body>& request) {
    beast::websocket::stream<Stream&> socket(stream);
    ErrorCode error;
    socket.accept(request, error);
    beast::flat_buffer message;
    while (!error) {
      socket.read(message, error);
      socket.text(socket.got_text());
      if (!error) socket.write(message.data(), error);
      message.clear();
    }
  }

  asio::io_context loop_;
  asio::ssl::context context_;
  tcp::acceptor acceptor_{loop_};
  std::atomic<bool> stopping_ = false;
  std::atomic<int> serving_ = -1;
  std::thread thread_;
};

struct TlsTest : ::testing::Test {
  testing::Authority ours{"Cay test authority"};
  testing::Authority another{"Another authority"};
  asio::io_context loop;
  std::unique_ptr<Client> client;

  void connect(const std::string& url, const std::string& ca_file) {
    ClientOptions options;
    options.url = url;
    options.ca_file = ca_file;
    auto made = Client::create(loop.get_executor(), std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    client = *std::move(made);
  }
  Result<Response> ask(std::string body = {}, std::string target = "/") {
    ClientRequest request;
    request.method = "PUT";
    request.target = std::move(target);
    request.body = std::move(body);
    return run(loop, client->request(std::move(request)));
  }
  Error refused(const std::string& url, const std::string& ca_file) {
    connect(url, ca_file);
    auto got = ask();
    EXPECT_FALSE(got);
    return got ? Error() : got.error();
  }
};

TEST_F(TlsTest, TheRightAuthorityNameAndDateAreTrusted) {
  TlsServer server(ours.sign("DNS:localhost,IP:127.0.0.1"));
  connect("https://localhost:" + server.port(), ours.file());
  for (const char* body : {"one", "two"}) {  // the second on the kept connection, or on a new one
    auto got = ask(body);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body, std::string("hello ") + body);
  }
  EXPECT_EQ(server.server_name, "localhost");
  client.reset();
  connect("https://127.0.0.1:" + server.port(), ours.file());
  auto got = ask("by address");
  ASSERT_TRUE(got) << got.error().message;
}

TEST_F(TlsTest, AStreamedBodyArrivesWhole) {
  TlsServer server(ours.sign("DNS:localhost"));
  connect("https://localhost:" + server.port(), ours.file());
  const std::string sent(3 << 20, 'x');
  ClientRequest request;
  request.method = "PUT";
  request.stream = source_of(sent);
  // The server's default limit of a body is 1 MiB: it hangs up, and that is an error, not an
  // answer.
  EXPECT_FALSE(run(loop, client->request(std::move(request))));
  ClientRequest smaller;
  smaller.method = "PUT";
  smaller.stream = source_of(sent.substr(0, 900'000));
  auto got = run(loop, client->request(std::move(smaller)));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body.size(), 900'006U);
}

TEST_F(TlsTest, AnotherAuthorityIsRefused) {
  TlsServer server(ours.sign("DNS:localhost"));
  for (const std::string& trusted : {another.file(), std::string()}) {  // empty: the system's store
    const Error error = refused("https://localhost:" + server.port(), trusted);
    EXPECT_EQ(error.reason, "tls_untrusted");
    EXPECT_NE(error.message.find("issuer certificate"), std::string::npos) << error.message;
  }
}

TEST_F(TlsTest, AnotherNameIsRefused) {
  TlsServer server(ours.sign("DNS:elsewhere.test,IP:127.0.0.2"));
  for (const std::string host : {"localhost", "127.0.0.1"}) {
    const Error error = refused("https://" + host + ":" + server.port(), ours.file());
    EXPECT_EQ(error.reason, "tls_untrusted");
    EXPECT_NE(error.message.find("mismatch"), std::string::npos) << error.message;
  }
}

TEST_F(TlsTest, AnExpiredCertificateIsRefused) {
  TlsServer server(ours.sign("DNS:localhost", -60));
  const Error error = refused("https://localhost:" + server.port(), ours.file());
  EXPECT_EQ(error.reason, "tls_untrusted");
  EXPECT_NE(error.message.find("expired"), std::string::npos) << error.message;
}

TEST_F(TlsTest, APortWithoutTlsIsSaid) {
  asio::io_context other;
  tcp::acceptor acceptor(other, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
  std::thread server([&] {
    tcp::socket socket(other);
    acceptor.accept(socket);
    ErrorCode ignored;
    asio::write(socket, asio::buffer(std::string("HTTP/1.1 400 Bad Request\r\n\r\n")), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
  });
  const Error error =
      refused("https://localhost:" + std::to_string(acceptor.local_endpoint().port()), ours.file());
  server.join();
  EXPECT_EQ(error.reason, "tls_failed") << error.message;
}

TEST_F(TlsTest, ABodyThatWasCutIsAnError) {
  TlsServer server(ours.sign("DNS:localhost"));
  connect("https://localhost:" + server.port(), ours.file());
  auto got = ask("", "/cut");
  ASSERT_FALSE(got) << got->body;
  EXPECT_EQ(got.error().reason, "connection_lost");
}

TEST_F(TlsTest, AWebSocketWorksOverIt) {
  TlsServer server(ours.sign("DNS:localhost"));
  connect("https://localhost:" + server.port(), ours.file());
  auto upgrade = run(loop, client->websocket("/", {}));
  ASSERT_TRUE(upgrade) << upgrade.error().message;
  ASSERT_TRUE(upgrade->socket);
  for (const std::size_t size : {1UL, 100'000UL}) {
    const std::string text(size, 'x');
    ASSERT_TRUE(run(loop, upgrade->socket->send_text(text)));
    EXPECT_EQ(run(loop, upgrade->socket->read()).data, text);
  }
  run(loop, upgrade->socket->close(1000, "done"));
}

TEST_F(TlsTest, AFileWithoutCertificatesIsRefusedAtOnce) {
  ClientOptions options;
  options.url = "https://localhost";
  for (const char* path : {"/etc/hostname", "/nowhere/ca.pem"}) {
    options.ca_file = path;
    auto made = Client::create(loop.get_executor(), options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().reason, "bad_ca_file");
    EXPECT_NE(made.error().message.find(path), std::string::npos);
  }
}

}  // namespace
}  // namespace cay::http
