// FakeExchange and FakeWebSocket: a request and its answer without a socket.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "http/exchange.h"

namespace cay::api::testing {

// The server's side of a WebSocket; tests play the client.
class FakeWebSocket : public http::WebSocket {
 public:
  explicit FakeWebSocket(asio::any_io_executor loop) : changed_(loop) {}

  // The client's hand. After it closed, sends fail as on a broken connection.
  void client_text(std::string text);
  void client_binary(Bytes bytes);
  void client_close(int code = 1005);
  // A message over the limit, whose sentence is `why`.
  void client_too_long(std::string why);

  struct Sent {
    bool binary = false;
    std::string data;
  };
  std::vector<Sent> sent;
  std::optional<int> closed_with;  // by the server
  int end_code = 1001;
  std::size_t largest = 0;

  asio::awaitable<http::WsMessage> read() override;
  Task<void> send_text(std::string text) override;
  Task<void> send_binary(Bytes data) override;
  asio::awaitable<void> close(int code, std::string reason) override;
  void at_daemons_end(int code) override { end_code = code; }

 private:
  Task<void> send(Sent message);
  std::deque<http::WsMessage> incoming_;
  bool client_gone_ = false;
  cay::Event changed_;
};

class FakeExchange : public http::Exchange {
 public:
  FakeExchange(asio::any_io_executor loop, std::string method, std::string target);

  http::RequestHead request;
  Principal who{TenantId("t1"), "key1"};
  std::map<std::string, std::string> path_params;
  std::string request_body;
  std::size_t chunk = 64 * 1024;  // of the body as a stream

  // The answer.
  int answers = 0;
  int status = 0;
  http::Headers headers;
  std::string answer_body;
  std::shared_ptr<void> holds;          // of an answer that is still being sent
  std::optional<std::uint64_t> length;  // of a streamed answer
  std::optional<std::string> broken_off;
  std::string subject;
  std::size_t max_message = 0;            // of the upgrade
  std::string protocol;                   // likewise
  std::optional<Error> broken;            // the streamed body failed: the connection broke
  std::shared_ptr<FakeWebSocket> socket;  // the upgraded one, and the test's handle on it

  const http::RequestHead& head() const override { return request; }
  const Principal& principal() const override { return who; }
  const std::map<std::string, std::string>& params() const override { return path_params; }
  Result<void> let_in(http::Caller) override { return {}; }
  void note_subject(std::string what) override { subject = std::move(what); }
  asio::awaitable<bool> break_off(std::string why) override {
    broken_off = std::move(why);
    co_return answers > 0;
  }
  Task<std::string> read_body(std::size_t limit) override;
  std::unique_ptr<ByteSource> body() override;
  asio::awaitable<void> respond(http::Response response) override;
  asio::awaitable<void> respond_stream(int code, http::Headers head,
                                       std::optional<std::uint64_t> size,
                                       std::unique_ptr<ByteSource> bytes) override;
  void choose_protocol(std::string name) override { protocol = std::move(name); }
  Task<std::unique_ptr<http::WebSocket>> upgrade(std::size_t max_message) override;
  Task<std::unique_ptr<ByteStream>> upgrade_raw(http::Headers head) override;

  std::unique_ptr<ByteStream> raw;  // what upgrade_raw gives; a test's
};

}  // namespace cay::api::testing
