#include "api/gateway/service_call.h"

#include <boost/asio/this_coro.hpp>
#include <charconv>
#include <utility>

#include "async/scope.h"
#include "async/until_set.h"
#include "http/text.h"
#include "http/upstream.h"

namespace cay::api {
namespace {

Error was_cut() { return {Code::kCancelled, "link_withdrawn", "the link was withdrawn, or the daemon ends", 0}; }

std::optional<std::uint64_t> length_of(const http::Headers& headers) {
  const auto text = headers.get("Content-Length");
  std::uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

class ServiceCall {
 public:
  ServiceCall(ExchangePtr exchange, ServiceRoute route, std::unique_ptr<core::Tunnel> tunnel, asio::any_io_executor executor)
      : exchange_(std::move(exchange)), route_(std::move(route)), tunnel_(*tunnel), upstream_(std::move(tunnel)), over_(executor), cut_(executor), parts_(executor) {}

  Task<void> run(http::Headers headers, std::shared_ptr<Event> withdrawn, Event& ending) {
    const http::RequestHead& head = exchange_->head();
    http::UpstreamRequest request;
    request.method = head.method;
    request.target = route_.target;
    request.headers = std::move(headers);
    request.websocket = head.wants_websocket;
    request.chunked = head.headers.get("Transfer-Encoding").has_value();
    request.length = length_of(head.headers);
    const bool has_body = request.chunked || request.length.value_or(0) > 0;
    // A client that waits for "100 Continue" gets it before anything else is written to it.
    if (has_body && head.headers.get("Expect")) {
      body_ = exchange_->body();
      CAY_CO_TRY(first_, co_await body_->next());
      began_ = true;
    }
    CAY_CO_CHECK(co_await upstream_.send_head(std::move(request)));
    parts_.spawn(cut_when(std::move(withdrawn)));
    parts_.spawn(cut_when_ending(ending));
    if (has_body) parts_.spawn(upload());
    parts_.spawn(answer());
    auto over = over_.wait();
    co_await parts_.until(std::move(over));
    if (!result_ && why_) co_return *std::move(why_);
    co_return std::move(result_);
  }

 private:
  asio::awaitable<void> cut_when(std::shared_ptr<Event> event) {
    co_await event->wait();
    cut();
  }
  asio::awaitable<void> cut_when_ending(Event& event) {
    co_await event.wait();
    cut();
  }
  void cut() {
    cut_.set();
    tunnel_.break_off(was_cut());
  }

  asio::awaitable<void> upload() {
    if (!body_) body_ = exchange_->body();
    for (;;) {
      Result<Bytes> piece = Bytes();
      if (std::exchange(began_, false)) {
        piece = std::move(first_);
      } else {
        piece = co_await body_->next();
      }
      if (!piece) {  // the client's fault, or it went: the service must not take a part for the whole
        why_ = std::move(piece).error();
        cut();
        co_return;
      }
      const bool last = piece->empty();
      auto sent = co_await upstream_.send(*std::move(piece));
      if (!sent || last) co_return;  // a service that wants no more may still answer
    }
  }

  asio::awaitable<void> answer() {
    result_ = co_await pass_answer();
    over_.set();
  }

  Task<void> pass_answer() {
    CAY_CO_TRY(auto answer, co_await upstream_.read_head());  // a client that leaves ends it
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
    co_await exchange_->respond_stream(answer.status, std::move(headers), answer.length, std::move(body));
    co_return Result<void>();
  }

  Task<void> switch_over(http::Headers headers, const http::Headers& answered) {
    if (!http::equals_ignoring_case(answered.get("Upgrade").value_or(""), "websocket")) {
      co_return Error{Code::kUnavailable, "bad_answer", "the service switched to a protocol that nobody asked for", 0};
    }
    headers.set("Upgrade", "websocket");
    CAY_CO_TRY(const auto client, co_await exchange_->upgrade_raw(std::move(headers)));
    const auto service = upstream_.take_stream();
    auto passing = splice(*client, *service);
    auto ended = co_await until_set(std::move(passing), cut_, was_cut());
    static_cast<void>(ended);  // a broken side has broken the other
    co_return Result<void>();
  }

  // The answer's body. One that is cut short fails, and so breaks the client's connection.
  class Body final : public ByteSource {
   public:
    explicit Body(ServiceCall& call) : call_(call) {}
    Task<Bytes> next() override { return call_.upstream_.next(); }

   private:
    ServiceCall& call_;
  };

  ExchangePtr exchange_;
  ServiceRoute route_;
  core::Tunnel& tunnel_;     // upstream_ has it
  http::Upstream upstream_;
  std::unique_ptr<ByteSource> body_;
  Bytes first_;         // of the body, read before the rest
  bool began_ = false;  // first_ is to be sent
  std::optional<Error> why_;
  Result<void> result_;
  Event over_, cut_;
  Scope parts_;
};

}  // namespace

Task<void> pass_to_service(core::Cay& cay, ExchangePtr exchange, core::OpenLink link, ServiceRoute route,
                           const std::function<bool(std::string_view)>& is_key, Event& ending) {
  Principal who;
  who.tenant = link.link.tenant;
  who.key_name = link.link.created_by;
  auto headers = request_headers(exchange->head(), route.form, route.place, is_key);
  CAY_CO_TRY(auto tunnel, co_await cay.tunnels().open(std::move(who), route.place.sandbox.get(), route.place.port));
  const auto executor = co_await asio::this_coro::executor;
  ServiceCall call(std::move(exchange), std::move(route), std::move(tunnel), executor);
  auto done = co_await call.run(std::move(headers), link.ended, ending);
  co_return done;
}

}  // namespace cay::api
