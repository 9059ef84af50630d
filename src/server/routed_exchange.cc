#include "server/routed_exchange.h"

#include "async/piped.h"
#include "server/dispatch.h"

namespace cay::server {
namespace {

constexpr std::uint64_t kLongAnswer = 1
                                      << 20;  // what is shorter is in the sockets' buffers at once

}  // namespace

void RoutedExchange::let_act() {
  if (may_change(head().method)) course_.act();
}

void RoutedExchange::conclude() {
  if (std::exchange(upgrading_, false) && course_.status() == 0) course_.become();
}

Result<void> RoutedExchange::let_in(http::Caller caller) {
  CAY_CHECK(rate_check_(caller));
  CAY_CHECK(ForwardingExchange::let_in(caller));
  known_ = true;
  if (caller.kind == http::Caller::Kind::kLink) {
    course_.note_link(caller.id.substr(caller.id.find('/') + 1));
    let_act();
  }
  return {};
}

asio::awaitable<bool> RoutedExchange::break_off(std::string why) {
  note_end("broken off here: " + why);
  return ForwardingExchange::break_off(std::move(why));
}

asio::awaitable<void> RoutedExchange::respond(http::Response response) {
  if (!known_ && instead_ && response.status >= 400) {
    if (auto instead = instead_(response)) response = std::move(*instead);
  }
  course_.answer(response.status);
  sign(response.headers);
  return ForwardingExchange::respond(std::move(response));
}

asio::awaitable<void> RoutedExchange::respond_stream(int status, http::Headers headers,
                                                     std::optional<std::uint64_t> length,
                                                     std::unique_ptr<ByteSource> bytes) {
  course_.answer(status);
  sign(headers);
  const bool endless = headers.get("Content-Type").value_or("").starts_with("text/event-stream");
  // A service's answers, passed on as they come, are no downloads of ours: how long they are is
  // its own affair.
  const auto* piped = dynamic_cast<const PipedSource*>(bytes.get());
  const bool passed_on = !course_.link().empty() && piped != nullptr && piped->is_of_service();
  const bool is_long = head().method != "HEAD" && !passed_on && (!length || *length >= kLongAnswer);
  if (endless || is_long) course_.last();
  return ForwardingExchange::respond_stream(status, std::move(headers), length, std::move(bytes));
}

Task<std::unique_ptr<http::WebSocket>> RoutedExchange::upgrade(std::size_t max_message) {
  upgrading_ = true;
  auto socket = co_await ForwardingExchange::upgrade(max_message);
  upgrading_ = false;
  if (socket) course_.become();
  co_return socket;
}

Task<std::unique_ptr<ByteStream>> RoutedExchange::upgrade_raw(http::Headers headers) {
  upgrading_ = true;
  auto stream = co_await ForwardingExchange::upgrade_raw(std::move(headers));
  upgrading_ = false;
  if (stream) course_.become();
  co_return stream;
}

// A service of a sandbox names its requests itself.
void RoutedExchange::sign(http::Headers& headers) const {
  headers.set(headers.get("X-Request-Id") ? "X-Cay-Request-Id" : "X-Request-Id", request_id_);
}

}  // namespace cay::server
