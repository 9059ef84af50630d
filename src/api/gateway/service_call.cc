#include "api/gateway/service_call.h"

#include <boost/asio/this_coro.hpp>
#include <charconv>
#include <utility>

#include "async/deadline.h"
#include "async/piped.h"
#include "async/scope.h"
#include "api/gateway/socket_relay.h"
#include "base/ascii.h"
#include "core/ports/tunnel.h"
#include "core/verbs/links.h"
#include "core/verbs/tunnels.h"
#include "http/upstream.h"

namespace cay::api {
namespace {

constexpr int kPolicyViolation = 1008;
constexpr int kGoingAway = 1001;

Error daemon_ends() {
  return {Code::kUnavailable, "shutting_down", "the daemon is ending; connect again", 0};
}

std::optional<std::uint64_t> length_of(const http::Headers& headers) {
  const auto text = headers.get("Content-Length");
  std::uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

// Returns whether its connection may carry another request. A service that does not read a body
// would take the rest of it for the next request: that is how requests are smuggled.
bool has_no_body(const http::RequestHead& head) {
  return head.method == "GET" && !head.wants_websocket && !head.headers.get("Transfer-Encoding") &&
         !head.headers.get("Content-Length") && !head.headers.get("Expect");
}

class ServiceCall {
 public:
  ServiceCall(ExchangePtr exchange, ServiceRoute route, core::Tunnel& tunnel,
              asio::any_io_executor executor)
      : exchange_(std::move(exchange)),
        route_(std::move(route)),
        tunnel_(tunnel),
        upstream_(tunnel),
        over_(executor),
        cut_(executor),
        parts_(executor) {}

  // `starved`: called when the answer lets wait for itself; what it gives is kept until it has
  // come.
  Task<void> run(http::Headers headers, std::shared_ptr<core::LinkEnd> withdrawn, Event& ending,
                 std::function<std::shared_ptr<void>()> starved) {
    const http::RequestHead& head = exchange_->head();
    http::UpstreamRequest request;
    request.method = head.method;
    request.target = route_.target;
    request.headers = std::move(headers);
    request.websocket = head.wants_websocket;
    request.chunked = head.headers.get("Transfer-Encoding").has_value();
    request.length = length_of(head.headers);
    request.keep = has_no_body(head);
    const bool has_body = request.chunked || request.length.value_or(0) > 0;
    // A client that waits for "100 Continue" gets it before anything else is written to it.
    if (has_body && head.headers.get("Expect")) {
      body_ = exchange_->body();
      CAY_CO_TRY(first_, co_await body_->next());
      began_ = true;
    }
    CAY_CO_CHECK(co_await upstream_.send_head(std::move(request)));
    const Event::Watch withdrawal =
        withdrawn->when_set([this, &withdrawn] { withdraw(withdrawn->why()); });
    const Event::Watch end = ending.when_set([this] { cut(daemon_ends()); });
    if (has_body) parts_.spawn(upload());
    if (starved) parts_.spawn(look_for_answer(std::move(starved)));
    parts_.spawn(answer());
    auto over = over_.wait();
    co_await parts_.until(std::move(over));
    if (!result_ && why_) co_return *std::move(why_);
    co_return std::move(result_);
  }
  // The service ended before it had sent anything, and nobody else did: as if it had not been
  // requested.
  bool may_be_repeated() const { return upstream_.is_unanswered() && !cut_.is_set(); }
  bool can_ask_again() const { return !cut_.is_set() && upstream_.can_ask_again(); }

 private:
  asio::awaitable<void> look_for_answer(std::function<std::shared_ptr<void>()> starved) {
    co_await sleep_for(KeptServices::kPatience);
    if (!answered_) way_ = starved();
  }
  void withdraw(const Error& why) {
    cut(why);
    // Sent bytes are sent. But a client that reads nothing must not hold the rest.
    if (answered_ && !switched_) parts_.spawn(break_off(why.message));
  }
  asio::awaitable<void> break_off(std::string why) {
    auto broken = co_await exchange_->break_off(std::move(why));
    static_cast<void>(broken);
  }
  void cut(Error why) {
    cut_why_ = std::move(why);
    cut_.set();
    if (!switched_) tunnel_.break_off(cut_why_);
  }
  RelayEnd relay_end() const {
    return {cut_why_.reason == "shutting_down" ? kGoingAway : kPolicyViolation, cut_why_.message};
  }

  asio::awaitable<void> upload() {
    if (!body_) body_ = exchange_->body();
    auto* piped = dynamic_cast<PipedSource*>(body_.get());
    for (;;) {
      if (piped != nullptr && !began_ && piped->can_splice() && upstream_.can_send_piped()) {
        auto pipe = co_await piped->next_piped();
        if (!pipe) co_return lose_client(std::move(pipe).error());
        auto sent = co_await upstream_.send_piped(*std::move(pipe));
        if (!sent) co_return;
        continue;
      }
      Result<Bytes> piece = Bytes();
      if (std::exchange(began_, false)) {
        piece = std::move(first_);
      } else {
        piece = co_await body_->next();
      }
      if (!piece) co_return lose_client(std::move(piece).error());
      const bool last = piece->empty();
      auto sent = co_await upstream_.send(*std::move(piece));
      if (!sent || last) co_return;  // a service that wants no more may still answer
    }
  }

  // The client's fault, or it went: the service must not take a part for the whole.
  void lose_client(Error why) {
    why_ = std::move(why);
    cut(*why_);
  }

  asio::awaitable<void> answer() {
    result_ = co_await pass_answer();
    over_.set();
  }

  Task<void> pass_answer() {
    CAY_CO_TRY(auto answer, co_await upstream_.read_head());  // a client that leaves ends it
    answered_ = true;
    way_.reset();
    auto headers = answer_headers(answer.headers, route_.form, route_.place);
    if (answer.status == 101) {
      auto switched = co_await switch_over(std::move(headers), answer.headers);
      co_return switched;
    }
    constexpr int kNoContent = 204;
    constexpr int kNotModified = 304;
    if (answer.status == kNoContent || answer.status == kNotModified) {
      http::Response response;
      response.status = answer.status;
      response.headers = std::move(headers);
      co_await exchange_->respond(std::move(response));
      co_return Result<void>();
    }
    auto body = std::make_unique<Body>(*this);
    co_await exchange_->respond_stream(answer.status, std::move(headers), answer.length,
                                       std::move(body));
    co_return Result<void>();
  }

  Task<void> switch_over(http::Headers headers, const http::Headers& answered) {
    if (!equals_ignoring_case(answered.get("Upgrade").value_or(""), "websocket")) {
      co_return Error{Code::kUnavailable, "bad_answer",
                      "the service switched to a protocol that the client did not request", 0};
    }
    headers.set("Upgrade", "websocket");
    CAY_CO_TRY(const auto client, co_await exchange_->upgrade_raw(std::move(headers)));
    const auto service = upstream_.take_stream();
    const auto executor = co_await asio::this_coro::executor;
    switched_ = true;
    SocketRelay relay(*client, *service, executor);
    co_await relay.run(cut_, [this] { return relay_end(); });
    if (cut_.is_set()) exchange_->note_end("closed here: " + cut_why_.message);
    co_return Result<void>();  // a broken side has broken the other
  }

  // The answer's body. One that is cut short fails, and so breaks the client's connection.
  class Body final : public PipedSource {
   public:
    explicit Body(ServiceCall& call) : call_(call) {}
    Task<Bytes> next() override { return call_.upstream_.next(); }
    std::optional<Bytes> come() override { return call_.upstream_.come(); }
    bool can_splice() const override { return call_.upstream_.can_splice(); }
    Task<KernelPipe> next_piped() override { return call_.upstream_.next_piped(); }
    bool is_of_service() const override { return true; }

   private:
    ServiceCall& call_;
  };

  ExchangePtr exchange_;
  ServiceRoute route_;
  core::Tunnel& tunnel_;
  http::Upstream upstream_;
  std::unique_ptr<ByteSource> body_;
  Bytes first_;         // of the body, read before the rest
  bool began_ = false;  // first_ is to be sent
  bool answered_ = false;
  std::shared_ptr<void> way_;  // for this call, by those that are kept
  bool switched_ = false;      // to a WebSocket: it ends with a frame
  std::optional<Error> why_;
  Error cut_why_ = daemon_ends();
  Result<void> result_;
  Event over_, cut_;
  Scope parts_;
};

}  // namespace

Task<void> pass_to_service(core::Cay& cay, KeptServices& kept, ExchangePtr exchange,
                           core::OpenLink link, ServiceRoute route,
                           const std::function<bool(std::string_view)>& is_key, Event& ending) {
  Principal who;
  who.tenant = link.link.tenant;
  who.key_name = link.link.created_by;
  auto headers = request_headers(exchange->head(), route.form, route.place, is_key);
  const auto executor = co_await asio::this_coro::executor;
  const bool alone = has_no_body(exchange->head());
  if (auto tunnel = alone ? kept.take(link.link.id, route.place) : nullptr) {
    ServiceCall call(exchange, route, *tunnel, executor);
    auto done = co_await call.run(headers, link.ended, ending, nullptr);
    if (done || !call.may_be_repeated()) {
      if (done && call.can_ask_again()) kept.keep(link.link.id, route.place, std::move(tunnel));
      co_return done;
    }
  }
  CAY_CO_TRY(auto tunnel, co_await cay.tunnels().open(std::move(who), route.place.sandbox.get(),
                                                      route.place.port));
  ServiceCall call(std::move(exchange), route, *tunnel, executor);
  auto done = co_await call.run(std::move(headers), link.ended, ending,
                                [&] { return kept.make_way(route.place); });
  if (done && call.can_ask_again()) kept.keep(link.link.id, route.place, std::move(tunnel));
  co_return done;
}

}  // namespace cay::api
