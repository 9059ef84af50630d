#include "api/common/answer.h"

#include <spdlog/spdlog.h>

#include "codec/model_json.h"
#include "core/answer_room.h"

namespace cay::api {
namespace {

constexpr std::size_t kSmallAnswer = 64 << 10;  // is in the sockets' buffers at once
constexpr std::size_t kLargestOfDeeds =
    1 << 20;  // what may have changed something answers with no more, a command's output apart

http::Response error_answer(const Shape& shape, const Error& error) {
  auto response = shape(error, note_error(error));
  if (error.reason == core::kTooManyAnswers) response.headers.set("Retry-After", "1");
  return response;
}

asio::awaitable<void> answer(core::Cay& cay, Verb verb, Shape shape, ExchangePtr exchange) {
  auto work = verb(exchange);
  auto got = co_await std::move(work);
  if (got) {
    const auto room = find_room(cay, *exchange, *got);
    if (!room) got = room.error();
  }
  auto response = got ? *std::move(got) : error_answer(shape, got.error());
  co_await exchange->respond(std::move(response));
}

asio::awaitable<void> stream(StreamVerb verb, Shape shape, ExchangePtr exchange) {
  auto work = verb(exchange);
  auto got = co_await std::move(work);
  if (got) co_return;
  auto response = error_answer(shape, got.error());
  co_await exchange->respond(std::move(response));
}

}  // namespace

Result<void> find_room(core::Cay& cay, const http::Exchange& exchange, http::Response& response) {
  const std::size_t size = response.body.size();
  if (response.holds || size <= kSmallAnswer) return {};
  auto part = cay.answers().begin(exchange.principal().tenant);
  // A refused caller repeats the request, which must do nothing twice.
  if (exchange.head().method == "GET" || size > kLargestOfDeeds) {
    CAY_CHECK(part->need(size));
  } else {
    part->hold(size);
  }
  response.holds = std::move(part);
  return {};
}

http::Handler answering(core::Cay& cay, Verb verb, Shape shape) {
  return [&cay, verb = std::move(verb), shape = std::move(shape)](ExchangePtr exchange) {
    return answer(cay, verb, shape, std::move(exchange));
  };
}

http::Handler streaming(StreamVerb verb, Shape shape) {
  return [verb = std::move(verb), shape = std::move(shape)](ExchangePtr exchange) {
    return stream(verb, shape, std::move(exchange));
  };
}

int status_of(const Error& error) {
  if (error.reason == "body_too_large" || error.reason == "arguments_too_long") return 413;
  if (error.reason == "upgrade_needed") return 426;
  switch (error.code) {
    case Code::kInvalidArgument: return 400;
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kAlreadyExists: return 409;
    case Code::kConflict: return 409;
    case Code::kNotReady: return 409;
    case Code::kExhausted: return 429;
    case Code::kDeadlineExceeded: return 408;
    case Code::kCancelled: return 499;
    case Code::kOutOfRange: return 416;
    case Code::kUnsupported: return 501;
    case Code::kUnavailable: return 503;
    case Code::kLost: return 500;
    case Code::kInternal: return 500;
  }
  return 500;
}

http::Response native_error(const Error& error, const std::string& error_id) {
  return json_answer(status_of(error),
                     codec::json::object{{"error", codec::to_json(error, error_id)}});
}

http::Response json_answer(int status, const codec::json::value& body) {
  return http::json_response(status, codec::write(body));
}

http::Response empty_answer(int status) {
  http::Response response;
  response.status = status;
  return response;
}

std::string note_error(const Error& error) {
  std::string id = new_uuid();
  if (is_ours(error.code)) {
    spdlog::error("error_id={} code={} reason={} {}", id, to_string(error.code), error.reason,
                  error.message);
  }
  return id;
}

Error invalid(std::string reason, std::string message) {
  return Error{Code::kInvalidArgument, std::move(reason), std::move(message), 0};
}

}  // namespace cay::api
