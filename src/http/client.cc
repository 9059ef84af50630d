// Client: requests, answers and WebSockets over a ClientPool.
#include "http/client.h"

#include <algorithm>
#include <utility>

#include "async/spawn.h"
#include "http/body_reader.h"
#include "http/client_call.h"
#include "http/client_pool.h"
#include "http/serialize.h"
#include "http/text.h"
#include "http/ws_handshake.h"
#include "http/ws_session.h"

namespace cay::http {

namespace {

bool is_idempotent(std::string_view method) {
  constexpr std::string_view kMethods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
}

// The answer's body; knows where its connection goes afterwards.
class AnswerBody final : public ByteSource {
 public:
  AnswerBody(std::shared_ptr<ClientPool> pool, std::shared_ptr<Stream> stream, BodyReader reader, bool reusable)
      : pool_(std::move(pool)), stream_(std::move(stream)), reader_(std::move(reader)), reusable_(reusable) {
    settle();
  }
  Task<Bytes> next() override {
    auto piece = co_await reader_.next();
    settle();
    co_return piece;
  }

 private:
  void settle() {
    if (!stream_ || (!reader_.done() && !reader_.failed())) return;
    if (reader_.done() && reusable_) pool_->give_back(stream_);
    stream_.reset();
  }
  std::shared_ptr<ClientPool> pool_;
  std::shared_ptr<Stream> stream_;
  BodyReader reader_;
  bool reusable_;
};

class PooledClient final : public Client {
 public:
  PooledClient(std::shared_ptr<ClientPool> pool, ClientOptions options)
      : pool_(std::move(pool)), options_(std::move(options)) {}

  Task<ClientResponse> send(ClientRequest request) override;
  Task<Response> request(ClientRequest request, std::size_t limit) override;
  Task<ClientUpgrade> websocket(std::string target, Headers headers, std::size_t max_message) override;
  void close_idle() override { pool_->close_idle(); }

 private:
  std::string head_of(const std::string& method, const std::string& target, const Headers& own) const;
  ClientCall::Limits limits() const { return {options_.response_timeout, options_.max_head}; }
  ClientResponse make_response(std::shared_ptr<Stream> stream, ParsedResponse parsed, bool head_only, bool reusable);

  std::shared_ptr<ClientPool> pool_;
  ClientOptions options_;
};

std::string PooledClient::head_of(const std::string& method, const std::string& target, const Headers& own) const {
  Headers headers;
  for (const auto& [name, value] : options_.headers.items()) {
    if (!own.get(name)) headers.add(name, value);
  }
  for (const auto& [name, value] : own.items()) headers.add(name, value);
  return request_head(method, pool_->url().prefix + target, pool_->url().authority, headers);
}

ClientResponse PooledClient::make_response(std::shared_ptr<Stream> stream, ParsedResponse parsed, bool head_only,
                                           bool reusable) {
  ClientResponse response;
  response.status = parsed.status;
  response.length = parsed.framing.length;
  auto framing = parsed.framing;
  const bool bare = head_only || parsed.status == 204 || parsed.status == 304;
  if (bare) framing = Framing{0, false};
  const bool to_end = !bare && !framing.length && !framing.chunked;
  BodyReader reader(stream, framing, to_end ? BodyReader::Until::kEnd : BodyReader::Until::kFraming);
  const bool keep = reusable && parsed.keep_alive && !to_end;
  response.headers = std::move(parsed.headers);
  response.body = std::make_unique<AnswerBody>(pool_, std::move(stream), std::move(reader), keep);
  return response;
}

Task<ClientResponse> PooledClient::send(ClientRequest request) {
  const bool target_ok = !request.target.empty() && request.target.front() == '/' &&
                         request.target.find_first_of(" \r\n\t") == std::string::npos;
  if (!target_ok || !is_token(request.method)) {
    co_return Error{Code::kInvalidArgument, "bad_request", "not a method and target: " + request.method + " " + request.target, 0};
  }
  const bool repeatable = !request.stream && is_idempotent(request.method);
  const bool usually_has_body = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  const auto head = head_of(request.method, request.target, request.headers);
  auto prefer = ClientPool::Prefer::kReuse;
  for (;;) {
    auto lease = co_await pool_->take(prefer);
    if (!lease) co_return std::move(lease).error();
    ClientCall call(lease->stream, head, limits());
    auto body = repeatable ? request.body : std::move(request.body);
    auto answer = co_await call.run(std::move(body), std::move(request.stream), request.stream_length, usually_has_body);
    if (answer) {
      co_return make_response(lease->stream, *std::move(answer), request.method == "HEAD", call.sent_all());
    }
    const bool stale = lease->reused && !call.answered() && answer.error().reason == "connection_lost";
    if (!stale || !repeatable) co_return std::move(answer).error();
    prefer = ClientPool::Prefer::kFresh;
  }
}

Task<Response> PooledClient::request(ClientRequest request, std::size_t limit) {
  auto answer = co_await send(std::move(request));
  if (!answer) co_return std::move(answer).error();
  auto body = co_await read_all(std::move(answer->body), limit);
  if (!body) co_return std::move(body).error();
  Response response;
  response.status = answer->status;
  response.headers = std::move(answer->headers);
  response.body = *std::move(body);
  co_return response;
}

Task<ClientUpgrade> PooledClient::websocket(std::string target, Headers headers, std::size_t max_message) {
  auto lease = co_await pool_->take(ClientPool::Prefer::kFresh);
  if (!lease) co_return std::move(lease).error();
  const auto key = make_websocket_key();
  auto head = head_of("GET", target, headers);
  append_field(head, "Connection", "Upgrade");
  append_field(head, "Upgrade", "websocket");
  append_field(head, "Sec-WebSocket-Version", "13");
  append_field(head, "Sec-WebSocket-Key", key);
  ClientCall call(lease->stream, std::move(head), limits());
  auto answer = co_await call.run("", nullptr, std::nullopt, false);
  if (!answer) co_return std::move(answer).error();
  ClientUpgrade upgrade;
  if (answer->status != 101) {
    auto refused = make_response(lease->stream, *std::move(answer), false, true);
    auto body = co_await read_all(std::move(refused.body), 64 * 1024);
    upgrade.refusal.status = refused.status;
    upgrade.refusal.headers = std::move(refused.headers);
    if (body) upgrade.refusal.body = *std::move(body);
    co_return upgrade;
  }
  if (answer->headers.get("Sec-WebSocket-Accept").value_or("") != accept_key(key) || !asks_for_websocket(answer->headers)) {
    co_return Error{Code::kUnavailable, "connection_lost", "the server's WebSocket handshake is wrong", 0};
  }
  WsOptions options;
  options.role = WsRole::kClient;
  options.max_message = max_message;
  options.ping_interval = options_.ping_interval;
  auto session = std::make_shared<WsSession>(lease->stream, options);
  // Ends by itself: the handle's going starts the close, which is bounded.
  spawn(pool_->executor(), "websocket to " + pool_->name(), session->run());
  upgrade.socket = make_websocket(std::move(session));
  co_return upgrade;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::create(asio::any_io_executor executor, ClientOptions options) {
  CAY_TRY(auto url, parse_url(options.url));
  auto pool = std::make_shared<ClientPool>(std::move(executor), std::move(url), options.connect_timeout,
                                           options.idle_timeout, options.max_idle);
  std::unique_ptr<Client> client = std::make_unique<PooledClient>(std::move(pool), std::move(options));
  return client;
}

}  // namespace cay::http
