// A server's handler that answers with the request that it saw, and the parts of its answers.
#pragma once
#include <memory>
#include <string>

#include "http/exchange.h"
#include "http/testing/raw_client.h"
#include "http/testing/text_answer.h"

namespace cay::http::testing {

inline constexpr const char* kClose = "Host: x\r\nConnection: close\r\n";

// Answers with the method, the segments and the body's length.
inline asio::awaitable<void> echo(std::shared_ptr<Exchange> exchange) {
  auto body = co_await exchange->read_body(1 << 20);
  if (!body) {
    const int status = body.error().reason == "body_too_large" ? 413 : 400;
    co_await exchange->respond(text(status, body.error().message));
    co_return;
  }
  std::string seen = exchange->head().method;
  for (const auto& segment : exchange->head().segments) seen += "|" + segment;
  seen += "#" + *body;
  co_await exchange->respond(text(200, seen));
}

inline std::string ask(std::uint16_t port, const std::string& bytes) {
  RawClient client(port);
  client.send(bytes);
  return client.read_to_end();
}

inline std::string status_line(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}
inline std::string body_of(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

}  // namespace cay::http::testing
