// FakeHttp: an http::Client whose answers a test scripts, and that remembers the requests.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/client.h"
#include "http/raw_stream.h"

namespace cay::client::testing {

inline http::WsMessage text_frame(std::string text) {
  return {http::WsMessage::Kind::kText, std::move(text), 0};
}

inline http::WsMessage closed_frame(int code) { return {http::WsMessage::Kind::kClosed, {}, code}; }

// u8 stream | u8 flags | u64 offset, little-endian | bytes
inline http::WsMessage output_frame(int stream, std::uint64_t offset, const std::string& bytes,
                                    int flags = 0) {
  std::string data{static_cast<char>(stream), static_cast<char>(flags)};
  for (int shift = 0; shift < 64; shift += 8)
    data.push_back(static_cast<char>((offset >> shift) & 0xff));
  return {http::WsMessage::Kind::kBinary, data + bytes, 0};
}

class FakeSocket : public http::WebSocket {
 public:
  FakeSocket(std::vector<http::WsMessage> script, std::vector<std::string>& sent)
      : script_(script.begin(), script.end()), sent_(sent) {}

  asio::awaitable<http::WsMessage> read() override {
    if (script_.empty()) co_return closed_frame(1006);
    auto next = std::move(script_.front());
    script_.pop_front();
    co_return next;
  }
  Task<void> send_text(std::string text) override {
    sent_.push_back(std::move(text));
    co_return Result<void>();
  }
  Task<void> send_binary(Bytes data) override {
    sent_.push_back(std::move(data));
    co_return Result<void>();
  }
  asio::awaitable<void> close(int /*code*/, std::string /*reason*/) override { co_return; }
  void at_daemons_end(int /*code*/) override {}

 private:
  std::deque<http::WsMessage> script_;
  std::vector<std::string>& sent_;
};

class FakeHttp : public http::Client {
 public:
  struct Log {
    std::vector<std::string> requests;  // "POST /api/v1/... BODY"
    std::vector<std::string> frames;    // text sent over sockets
    std::vector<std::string> targets;   // of the requested sockets
    // Answers; by default 200 {}.
    std::function<Result<http::Response>(const std::string& request)> answer;
    // Scripts of the sockets, in order; an Error is a connection that could not be had.
    std::deque<Result<std::vector<http::WsMessage>>> sockets;
  };

  explicit FakeHttp(std::shared_ptr<Log> log) : log_(std::move(log)) {}

  Task<http::ClientResponse> send(http::ClientRequest request) override {
    auto whole = co_await this->request(std::move(request), 0);
    if (!whole) co_return std::move(whole).error();
    http::ClientResponse out;
    out.status = whole->status;
    out.headers = std::move(whole->headers);
    out.body = source_of(std::move(whole->body));
    co_return out;
  }

  Task<http::Response> request(http::ClientRequest request, std::size_t /*limit*/) override {
    std::string body = std::move(request.body);
    while (request.stream) {
      auto piece = co_await request.stream->next();
      if (!piece) co_return std::move(piece).error();
      if (piece->empty()) break;
      body += *piece;
    }
    std::string line = request.method + " " + request.target + (body.empty() ? "" : " " + body);
    log_->requests.push_back(line);
    if (log_->answer) co_return log_->answer(line);
    co_return http::Response{200, {}, "{}"};
  }

  Task<http::ClientTunnel> tunnel(
      std::string /*target*/, std::string /*protocol*/,
      std::function<http::Headers(const std::string&)> /*headers*/) override {
    co_return Error{Code::kUnavailable, "connect_failed", "nobody listens", 0};
  }
  Task<http::ClientUpgrade> websocket(std::string target, http::Headers /*headers*/,
                                      std::size_t /*max_message*/) override {
    log_->targets.push_back(std::move(target));
    if (log_->sockets.empty())
      co_return Error{Code::kUnavailable, "connect_failed", "nobody listens", 0};
    auto script = std::move(log_->sockets.front());
    log_->sockets.pop_front();
    if (!script) co_return std::move(script).error();
    http::ClientUpgrade out;
    out.socket = std::make_unique<FakeSocket>(*std::move(script), log_->frames);
    co_return out;
  }

  void close_idle() override {}

 private:
  std::shared_ptr<Log> log_;
};

}  // namespace cay::client::testing
