#include "client/connection.h"

#include <algorithm>
#include <string_view>

#include "client/errors.h"
#include "http/raw_stream.h"
#include "model/trace.h"

namespace cay::client {
namespace {

constexpr std::size_t kMaxAnswer = 80u << 20;  // a batch's answer is the largest
constexpr std::size_t kMaxErrorAnswer = 256 * 1024;
constexpr std::size_t kMaxMessage = 16u << 20;
constexpr int kSuccessLimit = 300;

// Header values may hold more; a key of `cay key create` does not.
bool could_be_key(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return c > ' ' && c < '\x7f'; });
}

Millis millis(double seconds) { return Millis(static_cast<std::int64_t>(seconds * 1000)); }

}  // namespace

Connection::Connection(asio::any_io_executor executor, sdk::ClientOptions options,
                       std::unique_ptr<http::Client> http)
    : executor_(std::move(executor)), options_(std::move(options)), http_(std::move(http)) {}

Result<http::Client*> Connection::http() {
  if (!http_) {
    if (!could_be_key(options_.api_key)) {
      return Error{Code::kInvalidArgument, "bad_api_key",
                   "the API key (CAY_API_KEY, or the data directory's api-key) holds a line break, "
                   "or else what no key has: it is one line, as `cay key create` printed it",
                   0};
    }
    http::ClientOptions options;
    options.url = options_.url;
    options.ca_file = options_.ca_file;
    options.connect_timeout = millis(options_.connect_timeout_s);
    if (!options_.api_key.empty()) options.headers.add("X-Api-Key", options_.api_key);
    if (const auto trace = parse_traceparent(options_.traceparent))
      options.headers.add("traceparent", traceparent(*trace));
    options.headers.add("User-Agent", "cay-cpp");
    CAY_TRY(http_, http::Client::create(executor_, std::move(options)));
  }
  return http_.get();
}

Error Connection::explain(Error error) const {
  if (error.reason == "connect_failed" || error.reason == "connect_timeout") {
    error.message = "no Cay daemon answers at " + options_.url + " (" + error.message +
                    "). Start one with `cay serve`, or set CAY_URL to where it is";
  }
  if (error.code == Code::kUnauthenticated) {
    error.message +=
        options_.api_key.empty()
            ? ""
            : ". The key in use comes from CAY_API_KEY or the data directory's api-key";
  }
  return error;
}

Task<void> Connection::require_key() {
  if (!options_.api_key.empty() || options_.key_problem.empty()) co_return Result<void>();
  CAY_CO_TRY(auto* http, this->http());
  http::ClientRequest probe;
  probe.target = "/healthz";
  auto answer = co_await http->request(std::move(probe), kMaxErrorAnswer);
  if (!answer) co_return explain(std::move(answer).error());
  co_return Error{Code::kUnauthenticated, "no_key", options_.key_problem, 0};
}

Task<std::string> Connection::call(std::string method, std::string target, std::string body) {
  CAY_CO_CHECK(co_await require_key());
  CAY_CO_TRY(auto* http, this->http());
  http::ClientRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  auto answer = co_await http->request(std::move(request), kMaxAnswer);
  if (!answer) co_return explain(std::move(answer).error());
  if (answer->status >= kSuccessLimit)
    co_return explain(error_of_answer(answer->status, answer->body));
  co_return std::move(answer->body);
}

Task<json::object> Connection::call_json(std::string method, std::string target, std::string body) {
  auto answer = co_await call(std::move(method), std::move(target), std::move(body));
  if (!answer) co_return std::move(answer).error();
  auto parsed = codec::parse_object(*answer, codec::Empty::kIsObject);
  if (!parsed) {
    co_return Error{Code::kInternal, "unexpected_answer",
                    "the server's answer is not Cay's: is CAY_URL the address of a Cay daemon? (" +
                        parsed.error().message + ")",
                    0};
  }
  co_return *std::move(parsed);
}

Task<std::unique_ptr<ByteSource>> Connection::download(std::string target) {
  CAY_CO_CHECK(co_await require_key());
  CAY_CO_TRY(auto* http, this->http());
  http::ClientRequest request;
  request.target = std::move(target);
  auto answer = co_await http->send(std::move(request));
  if (!answer) co_return explain(std::move(answer).error());
  if (answer->status < kSuccessLimit) co_return std::move(answer->body);
  const int status = answer->status;
  auto body = co_await read_all(std::move(answer->body), kMaxErrorAnswer);
  co_return explain(error_of_answer(status, body ? *body : std::string()));
}

Task<json::object> Connection::upload(std::string method, std::string target,
                                      std::string content_type,
                                      std::unique_ptr<ByteSource> source) {
  CAY_CO_CHECK(co_await require_key());
  CAY_CO_TRY(auto* http, this->http());
  http::ClientRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers.add("Content-Type", std::move(content_type));
  request.stream = std::move(source);
  auto answer = co_await http->request(std::move(request), kMaxAnswer);
  if (!answer) co_return explain(std::move(answer).error());
  if (answer->status >= kSuccessLimit)
    co_return explain(error_of_answer(answer->status, answer->body));
  co_return codec::parse_object(answer->body, codec::Empty::kIsObject);
}

Task<std::unique_ptr<http::WebSocket>> Connection::websocket(std::string target) {
  CAY_CO_CHECK(co_await require_key());
  CAY_CO_TRY(auto* http, this->http());
  http::Headers headers;
  auto upgrade = co_await http->websocket(std::move(target), std::move(headers), kMaxMessage);
  if (!upgrade) co_return explain(std::move(upgrade).error());
  if (!upgrade->socket)
    co_return explain(error_of_answer(upgrade->refusal.status, upgrade->refusal.body));
  co_return std::move(upgrade->socket);
}

Task<std::unique_ptr<http::RawStream>> Connection::tunnel(std::string target) {
  if (options_.url.starts_with("https://")) co_return std::unique_ptr<http::RawStream>();
  CAY_CO_CHECK(co_await require_key());
  CAY_CO_TRY(auto* http, this->http());
  const auto from = [](const std::string& address) {
    http::Headers headers;
    headers.add("Cay-Tunnel-From", address);
    return headers;
  };
  auto opened = co_await http->tunnel(std::move(target), "cay-tunnel", from);
  if (!opened) co_return explain(std::move(opened).error());
  if (opened->stream) co_return std::move(opened->stream);
  auto refused = error_of_answer(opened->refusal.status, opened->refusal.body);
  // An older daemon without such tunnels requires a WebSocket, too.
  if (refused.reason == "tunnel_not_direct" || refused.reason == "upgrade_needed")
    co_return std::unique_ptr<http::RawStream>();
  co_return explain(std::move(refused));
}

std::string sandbox_target(const std::string& ref, std::string_view rest) {
  return "/api/v1/sandboxes/" + http::encode_segment(ref) + std::string(rest);
}

std::string path_query(const std::string& path, const std::string& user) {
  std::string out = "?path=" + http::encode_segment(path);
  if (!user.empty()) out += "&user=" + http::encode_segment(user);
  return out;
}

}  // namespace cay::client
