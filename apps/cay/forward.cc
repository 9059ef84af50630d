#include "forward.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "api/langsmith/errors.h"
#include "http/client.h"
#include "http/text.h"

namespace cay::app {
namespace {

constexpr std::size_t kMaxAnswer = 64u << 20;
constexpr Millis kUpstreamLimit{60'000};

// Hop-by-hop, and the caller's own key, which is Cay's and none of the upstream's business.
bool stays_here(std::string_view name) {
  constexpr std::array<std::string_view, 10> kHere = {"Host", "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length",
                                                      "Upgrade", "Expect", "X-Api-Key", "Authorization", "TE"};
  return std::any_of(kHere.begin(), kHere.end(), [name](std::string_view one) { return http::equals_ignoring_case(one, name); });
}

std::optional<std::uint64_t> length_of(const http::RequestHead& head) {
  const auto text = head.headers.get("Content-Length");
  std::uint64_t length = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), length).ec != std::errc()) return std::nullopt;
  return length;
}

asio::awaitable<void> pass_on(std::shared_ptr<http::Client> client, std::string key, std::shared_ptr<http::Exchange> exchange) {
  http::ClientRequest request;
  request.method = exchange->head().method;
  request.target = exchange->head().target;
  for (const auto& [name, value] : exchange->head().headers.items()) {
    if (!stays_here(name)) request.headers.add(name, value);
  }
  if (!key.empty()) request.headers.set("X-Api-Key", key);
  if (request.method != "GET" && request.method != "HEAD") {
    request.stream = exchange->body();
    request.stream_length = length_of(exchange->head());
  }
  auto got = co_await client->request(std::move(request), kMaxAnswer);
  http::Response response;
  if (got) {
    response.status = got->status;
    response.body = std::move(got->body);
    for (const auto& [name, value] : got->headers.items()) {
      if (!stays_here(name)) response.headers.add(name, value);
    }
  } else {
    spdlog::warn("traces are not passed on: {}", got.error().message);
    response = api::langsmith::envelope(502, "ConnectionError",
                                        "the traces could not be passed on to [langsmith] upstream: " + got.error().message, "");
  }
  co_await exchange->respond(std::move(response));
}

}  // namespace

Result<Forwarder> forwarder(asio::any_io_executor loop, const LangsmithUpstream& upstream) {
  if (upstream.url.empty()) return Forwarder();
  http::ClientOptions options;
  options.url = upstream.url;
  options.ca_file = upstream.ca_file;
  options.response_timeout = kUpstreamLimit;
  auto made = http::Client::create(std::move(loop), std::move(options));
  if (!made) return std::move(made).error().while_doing("[langsmith] upstream");
  std::shared_ptr<http::Client> client = *std::move(made);
  return Forwarder([client, key = upstream.key](std::shared_ptr<http::Exchange> exchange) { return pass_on(client, key, std::move(exchange)); });
}

}  // namespace cay::app
