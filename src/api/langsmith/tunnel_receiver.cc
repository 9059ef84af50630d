#include "api/langsmith/tunnel_receiver.h"

#include <algorithm>
#include <utility>

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kSmallBuffer = 4 * 1024;  // for a client that sends little
constexpr std::size_t kLargeBuffer = 256 * 1024;
constexpr int kMostSmall = 64;

}  // namespace

TunnelReceiver::TunnelReceiver(http::WebSocket& socket)
    : socket_(socket), piped_(dynamic_cast<http::PipedSocket*>(&socket)) {}

asio::awaitable<std::optional<std::string_view>> TunnelReceiver::receive() {
  if (piped_ == nullptr) {
    auto message = co_await receive_message();
    co_return message;
  }
  fit_buffer();
  const auto got = co_await piped_->read_some(buffer_);
  if (!got) co_return std::nullopt;
  read_ = *got;
  co_return std::string_view(buffer_).substr(0, read_);
}

asio::awaitable<std::optional<std::string_view>> TunnelReceiver::receive_message() {
  auto message = co_await socket_.read();
  if (message.kind == http::WsMessage::Kind::kClosed) co_return std::nullopt;
  if (message.kind == http::WsMessage::Kind::kTooLong) {
    co_await socket_.close(http::WebSocket::kTooLongCode, std::move(message.data));
    co_return std::nullopt;
  }
  buffer_ = std::move(message.data);
  co_return std::string_view(buffer_);
}

void TunnelReceiver::fit_buffer() {
  small_in_a_row_ = read_ < kSmallBuffer ? std::min(small_in_a_row_ + 1, kMostSmall) : 0;
  if (buffer_.empty() || (buffer_.size() > kSmallBuffer && small_in_a_row_ == kMostSmall)) {
    buffer_ = std::string(kSmallBuffer, '\0');
  } else if (read_ == buffer_.size()) {
    buffer_.resize(kLargeBuffer);
  }
}

}  // namespace cay::api::langsmith
