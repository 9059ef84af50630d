// An MCP server over streamable HTTP: a POST for each message, whose answer is JSON or a stream of
// events.
#include <optional>
#include <utility>

#include "agent/llm/outward_proxy.h"
#include "agent/llm/sse.h"
#include "agent/tools/mcp_link.h"
#include "agent/tools/web_fetch.h"
#include "async/bytes.h"
#include "http/client.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

constexpr int kNotFound = 404;  // also: a session that is over
constexpr std::size_t kMostAnswer = 32u << 20;
constexpr std::string_view kVersion = "2025-06-18";

class HttpLink final : public McpLink {
 public:
  HttpLink(std::unique_ptr<http::Client> client, std::string target, http::Headers headers)
      : client_(std::move(client)), target_(std::move(target)), headers_(std::move(headers)) {}

  Task<json::object> request(std::string method, json::object params) override {
    const bool begins = method == "initialize";
    if (begins) hello_ = params;
    auto first = co_await exchange(method, params);
    const bool is_over = !first && first.error().reason == kSessionOver;
    if (!is_over) co_return first;
    if (begins) co_return mcp_failed(first.error().message);
    // The server has forgotten the session, as after its restart: a new one begins.
    session_.clear();
    auto hello = hello_;
    auto welcome = co_await exchange("initialize", std::move(hello));
    if (!welcome) co_return said_over(std::move(welcome).error());
    auto noted = co_await notify("notifications/initialized");
    if (!noted) co_return std::move(noted).error();
    auto second = co_await exchange(std::move(method), std::move(params));
    if (!second) co_return said_over(std::move(second).error());
    co_return second;
  }

  Task<void> notify(std::string method) override {
    auto answer = co_await post(mcp_request(0, method, {}));
    if (!answer) co_return said_over(std::move(answer).error());
    co_return Result<void>();
  }

 private:
  static constexpr const char* kSessionOver = "mcp_session_over";  // inside this file alone

  static Error said_over(Error error) {
    return error.reason == kSessionOver ? mcp_failed(error.message) : error;
  }

  Task<json::object> exchange(std::string method, json::object params) {
    const std::uint64_t id = next_++;
    auto answer = co_await post(mcp_request(id, method, std::move(params)));
    if (!answer) co_return std::move(answer).error();
    if (const auto session = answer->headers.get("Mcp-Session-Id"); session) {
      session_ = std::string(*session);
    }
    const auto type = answer->headers.get("Content-Type").value_or("");
    if (type.starts_with("text/event-stream")) {
      auto found = co_await find_in_stream(std::move(answer->body), id);
      co_return found;
    }
    auto body = co_await read_all(std::move(answer->body), kMostAnswer);
    if (!body) co_return std::move(body).error();
    const auto message = codec::parse_object(*body);
    if (!message || !mcp_answers(*message, id)) co_return mcp_failed("the answer is no JSON-RPC");
    co_return mcp_result(*message);
  }

  Task<http::ClientResponse> post(json::object message) {
    http::ClientRequest request;
    request.method = "POST";
    request.target = target_;
    request.headers = headers_;
    request.headers.set("Content-Type", "application/json");
    request.headers.set("Accept", "application/json, text/event-stream");
    if (!session_.empty()) request.headers.set("Mcp-Session-Id", session_);
    if (next_ > 2) request.headers.set("MCP-Protocol-Version", std::string(kVersion));
    request.body = codec::write(std::move(message));
    auto answer = co_await client_->send(std::move(request));
    if (!answer) co_return std::move(answer).error();
    if (answer->status < 300) co_return std::move(answer);
    constexpr std::uint64_t kShown = 1000;
    const int status = answer->status;
    auto body = co_await read_head(std::move(answer->body), kShown);
    if (status == kNotFound && !session_.empty())
      co_return Error{Code::kUnavailable, kSessionOver, "the server ended the session", 0};
    co_return mcp_failed("the server answered HTTP " + std::to_string(status) + ": " +
                         (body ? body->bytes : std::string()));
  }

  Task<json::object> find_in_stream(std::unique_ptr<ByteSource> body, std::uint64_t id) {
    SseReader reader(kMostAnswer);
    for (;;) {
      auto piece = co_await body->next();
      if (!piece) co_return std::move(piece).error();
      std::vector<SseEvent> events;
      if (piece->empty()) {
        reader.finish(events);
      } else {
        CAY_CO_CHECK(reader.feed(*piece, events));
      }
      for (const auto& event : events) {
        const auto message = codec::parse_object(event.data);
        if (message && mcp_answers(*message, id)) co_return mcp_result(*message);
      }
      if (piece->empty()) co_return mcp_failed("the stream ended without the answer");
    }
  }

  std::unique_ptr<http::Client> client_;
  std::string target_;
  http::Headers headers_;
  std::string session_;
  json::object hello_;  // of initialize
  std::uint64_t next_ = 1;
};

}  // namespace

Result<std::shared_ptr<McpLink>> mcp_over_http(asio::any_io_executor executor,
                                               const json::object& config) {
  CAY_TRY(auto url, parse_web_url(std::string(config.at("url").get_string())));
  http::ClientOptions options;
  options.url = url.origin;
  options.proxy = outward_proxy(options.url, process_environment());
  http::Headers headers;
  if (const auto* more = config.if_contains("headers"); more != nullptr && more->is_object()) {
    for (const auto& [name, value] : more->get_object()) {
      if (value.is_string()) headers.add(std::string(name), std::string(value.get_string()));
    }
  }
  CAY_TRY(auto client, http::Client::create(std::move(executor), std::move(options)));
  return std::shared_ptr<McpLink>(
      std::make_shared<HttpLink>(std::move(client), std::move(url.target), std::move(headers)));
}

}  // namespace cay::agent
