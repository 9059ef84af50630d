#include "api/testing/fake_exchange.h"

#include "base/assert.h"
#include "http/target.h"

namespace cay::api::testing {
namespace {

class Chunks : public ByteSource {
 public:
  Chunks(Bytes bytes, std::size_t chunk) : bytes_(std::move(bytes)), chunk_(chunk) {}
  Task<Bytes> next() override {
    Bytes out = bytes_.substr(at_, chunk_);
    at_ += out.size();
    co_return out;
  }

 private:
  Bytes bytes_;
  std::size_t chunk_;
  std::size_t at_ = 0;
};

// The handler owns its socket; the test keeps a handle on the same.
class Owned : public http::WebSocket {
 public:
  explicit Owned(std::shared_ptr<FakeWebSocket> inner) : inner_(std::move(inner)) {}
  asio::awaitable<http::WsMessage> read() override { return inner_->read(); }
  Task<void> send_text(std::string text) override { return inner_->send_text(std::move(text)); }
  Task<void> send_binary(Bytes data) override { return inner_->send_binary(std::move(data)); }
  asio::awaitable<void> close(int code, std::string reason) override {
    return inner_->close(code, std::move(reason));
  }
  void at_daemons_end(int code) override { inner_->at_daemons_end(code); }

 private:
  std::shared_ptr<FakeWebSocket> inner_;
};

}  // namespace

void FakeWebSocket::client_text(std::string text) {
  incoming_.push_back({http::WsMessage::Kind::kText, std::move(text), 0});
  changed_.notify();
}
void FakeWebSocket::client_binary(Bytes bytes) {
  incoming_.push_back({http::WsMessage::Kind::kBinary, std::move(bytes), 0});
  changed_.notify();
}
void FakeWebSocket::client_too_long(std::string why) {
  incoming_.push_back({http::WsMessage::Kind::kTooLong, std::move(why), 0});
  changed_.notify();
}
void FakeWebSocket::client_close(int code) {
  incoming_.push_back({http::WsMessage::Kind::kClosed, "", code});
  client_gone_ = true;
  changed_.notify();
}

asio::awaitable<http::WsMessage> FakeWebSocket::read() {
  for (;;) {
    if (!incoming_.empty()) {
      http::WsMessage message = incoming_.front();
      if (message.kind != http::WsMessage::Kind::kClosed) incoming_.pop_front();
      co_return message;
    }
    if (closed_with) co_return http::WsMessage{http::WsMessage::Kind::kClosed, "", *closed_with};
    co_await changed_.wait();
  }
}

Task<void> FakeWebSocket::send(Sent message) {
  if (client_gone_ || closed_with)
    co_return Error{Code::kCancelled, "connection_closed", "the peer is gone", 0};
  largest = std::max(largest, message.data.size());
  sent.push_back(std::move(message));
  co_return Result<void>();
}
Task<void> FakeWebSocket::send_text(std::string text) { return send(Sent{false, std::move(text)}); }
Task<void> FakeWebSocket::send_binary(Bytes data) { return send(Sent{true, std::move(data)}); }

asio::awaitable<void> FakeWebSocket::close(int code, std::string) {
  if (!closed_with) closed_with = code;
  changed_.notify();
  co_return;
}

FakeExchange::FakeExchange(asio::any_io_executor loop, std::string method, std::string target)
    : socket(std::make_shared<FakeWebSocket>(loop)) {
  request.method = std::move(method);
  request.target = std::move(target);
  request.host = "127.0.0.1:8787";
  const auto parts = http::split_target(request.target);
  CAY_ASSERT(parts.has_value());
  request.segments = http::split_path(parts->path).value();
  request.query = http::Query::parse(parts->query).value();
}

Task<std::string> FakeExchange::read_body(std::size_t limit) {
  if (request_body.size() > limit) {
    co_return Error{Code::kInvalidArgument, "body_too_large",
                    "at most " + std::to_string(limit) + " bytes", 0};
  }
  co_return request_body;
}

std::unique_ptr<ByteSource> FakeExchange::body() {
  return std::make_unique<Chunks>(request_body, chunk);
}

asio::awaitable<void> FakeExchange::respond(http::Response response) {
  ++answers;
  status = response.status;
  headers = std::move(response.headers);
  answer_body = std::move(response.body);
  holds = std::move(response.holds);
  co_return;
}

asio::awaitable<void> FakeExchange::respond_stream(int code, http::Headers head,
                                                   std::optional<std::uint64_t> size,
                                                   std::unique_ptr<ByteSource> bytes) {
  ++answers;
  status = code;
  headers = std::move(head);
  length = size;
  if (request.method == "HEAD") co_return;
  for (;;) {
    auto got = co_await bytes->next();
    if (!got) {
      broken = got.error();
      co_return;
    }
    if (got->empty()) co_return;
    answer_body += *got;
  }
}

Task<std::unique_ptr<http::WebSocket>> FakeExchange::upgrade(std::size_t most) {
  max_message = most;
  ++answers;
  status = 101;
  co_return std::unique_ptr<http::WebSocket>(std::make_unique<Owned>(socket));
}

Task<std::unique_ptr<ByteStream>> FakeExchange::upgrade_raw(http::Headers head) {
  ++answers;
  status = 101;
  headers = std::move(head);
  co_return std::move(raw);
}

}  // namespace cay::api::testing
