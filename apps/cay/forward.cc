#include "forward.h"

#include <algorithm>
#include <array>

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

asio::awaitable<void> pass_on(std::shared_ptr<http::Client> client, std::string key, std::shared_ptr<http::Exchange> exchange) {
  http::ClientRequest request;
  request.method = exchange->head().method;
  request.target = exchange->head().target;
  for (const auto& [name, value] : exchange->head().headers.items()) {
    if (!stays_here(name)) request.headers.add(name, value);
  }
  if (!key.empty()) request.headers.set("X-Api-Key", key);
  if (request.method != "GET" && request.method != "HEAD") request.stream = exchange->body();
  auto got = co_await client->request(std::move(request), kMaxAnswer);
  http::Response response;
  if (got) {
    response.status = got->status;
    response.body = std::move(got->body);
    for (const auto& [name, value] : got->headers.items()) {
      if (!stays_here(name)) response.headers.add(name, value);
    }
  } else {
    response.status = 502;
    response.headers.add("Content-Type", "application/json");
    response.body = R"({"detail":{"error":"ConnectionError","message":"the configured LangSmith upstream did not answer","error_id":""}})";
  }
  co_await exchange->respond(std::move(response));
}

}  // namespace

Result<Forwarder> forwarder(asio::any_io_executor loop, const std::string& url, const std::string& key) {
  if (url.empty()) return Forwarder();
  http::ClientOptions options;
  options.url = url;
  options.response_timeout = kUpstreamLimit;
  auto made = http::Client::create(std::move(loop), std::move(options));
  if (!made) return std::move(made).error().while_doing("[langsmith] upstream");
  std::shared_ptr<http::Client> client = *std::move(made);
  return Forwarder([client, key](std::shared_ptr<http::Exchange> exchange) { return pass_on(client, key, std::move(exchange)); });
}

}  // namespace cay::app
