#include "api/daytona/errors.h"

#include <algorithm>
#include <iterator>

#include "api/daytona/toolbox/errors.h"
#include "base/clock.h"
#include "codec/time.h"
#include "core/answer_room.h"

namespace cay::api::daytona {
namespace {

// Too much at once. Every other kExhausted is a quota, which a repeat does not mend.
constexpr std::string_view kRates[] = {core::kTooManyAnswers, "too_many_requests",
                                       "too_many_connections"};

std::string_view phrase_of(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Payload Too Large";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return status < 500 ? "Bad Request" : "Internal Server Error";
  }
}

}  // namespace

Plane plane_of(const http::RequestHead& head) {
  return head.segments.size() > 1 && head.segments[1] == "toolbox" ? Plane::kToolbox : Plane::kApi;
}

std::string_view code_of_status(int status) {
  switch (status) {
    case 400: return "BAD_REQUEST";
    case 401: return "UNAUTHORIZED";
    case 403: return "FORBIDDEN";
    case 404: return "NOT_FOUND";
    case 405: return "METHOD_NOT_ALLOWED";
    case 408: return "REQUEST_TIMEOUT";
    case 409: return "CONFLICT";
    case 410: return "GONE";
    case 413: return "PAYLOAD_TOO_LARGE";
    case 422: return "UNPROCESSABLE_ENTITY";
    case 429: return "TOO_MANY_REQUESTS";
    case 501: return "NOT_IMPLEMENTED";
    case 503: return "SERVICE_UNAVAILABLE";
    default: return status < 500 ? "BAD_REQUEST" : "INTERNAL_SERVER_ERROR";
  }
}

Refusal api_refusal(const Error& error) {
  int status = status_of(error);
  if (error.code == Code::kExhausted) {
    const bool rate =
        std::find(std::begin(kRates), std::end(kRates), error.reason) != std::end(kRates);
    status = rate ? 429 : 403;  // the vendor's status of a quota
  } else if (error.code == Code::kOutOfRange) {
    status = 400;
  } else if (error.code == Code::kCancelled) {
    status = 408;
  }
  return {status, std::string(code_of_status(status))};
}

http::Response refused(const http::RequestHead& head, Plane plane, const Refusal& refusal,
                       const std::string& message) {
  const std::string path = head.target.substr(0, head.target.find('?'));
  const bool api = plane == Plane::kApi;
  codec::json::object body{{"path", codec::text(path)},
                           {"timestamp", codec::rfc3339(system_clock().wall())},
                           {"statusCode", refusal.status},
                           {"error", phrase_of(refusal.status)},
                           {"message", codec::text(message)},
                           {"code", refusal.code},
                           {"source", api ? "DAYTONA_API" : "DAYTONA_DAEMON"}};
  if (!api) body["method"] = codec::text(head.method);
  return json_answer(refusal.status, body);
}

http::Response refused(const http::RequestHead& head, Plane plane, const Error& error) {
  const Refusal refusal = plane == Plane::kApi ? api_refusal(error) : toolbox_refusal(error);
  return refused(head, plane, refusal, error.message);
}

}  // namespace cay::api::daytona
