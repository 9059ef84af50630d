#include "providers/daytona_api.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "client/json_read.h"
#include "providers/environment.h"

namespace cay::providers {
namespace {

namespace json = codec::json;
using client::string_in;

constexpr int kMostTries = 5;
constexpr Millis kBootTime{120'000}, kBuildTime{900'000};
constexpr Millis kPoll{1'000};  // as the vendor's clients poll
// Clients of this version and later get logs as JSON.
constexpr const char* kSpokenVersion = "0.218.0";

bool is_safe_again(const std::string& method, int status) {
  if (method != "GET" && method != "DELETE") return false;
  return status == 502 || status == 503 || status == 504;
}

// How long to wait before try `next`. A server names seconds; a date there is not read.
Millis pause_before(int next, const http::Response& answer) {
  constexpr int kMostSeconds = 60;
  if (const auto after = answer.headers.get("Retry-After")) {
    int seconds = 0;
    const auto read = std::from_chars(after->data(), after->data() + after->size(), seconds);
    if (read.ec == std::errc()) return Millis(1000 * std::clamp(seconds, 0, kMostSeconds));
  }
  return Millis(250 << next);
}

bool is_building(std::string_view state) {
  return state == "pending_build" || state == "building_snapshot" || state == "pulling_snapshot";
}

bool is_at_rest(std::string_view state) {
  return state == "stopped" || state == "paused" || state == "archived";
}

}  // namespace

DaytonaSettings DaytonaSettings::from_environment() {
  DaytonaSettings out;
  out.api_url = first_set({"DAYTONA_API_URL", "DAYTONA_SERVER_URL"});
  if (out.api_url.empty()) out.api_url = "https://app.daytona.io/api";
  while (out.api_url.ends_with('/')) out.api_url.pop_back();
  out.token = first_set({"DAYTONA_API_KEY"});
  if (out.token.empty()) {
    out.token = first_set({"DAYTONA_JWT_TOKEN"});
    out.organization = first_set({"DAYTONA_ORGANIZATION_ID"});
  }
  out.target = first_set({"DAYTONA_TARGET"});
  out.ca_file = first_set({"CAY_CA_FILE"});
  return out;
}

std::string daytona_target(const std::string& id_or_name, std::string_view rest) {
  return "/sandbox/" + http::encode_segment(id_or_name) + std::string(rest);
}

DaytonaFault daytona_fault(std::string_view body) {
  DaytonaFault out;
  if (const auto parsed = codec::parse_object(body)) {
    out.code = string_in(*parsed, "code");
    out.message = string_in(*parsed, "message");
    if (out.message.empty()) out.message = string_in(*parsed, "error");
  }
  if (out.message.empty()) out.message = std::string(body.substr(0, 300));
  return out;
}

Error daytona_error(int status, std::string_view body) {
  const auto fault = daytona_fault(body);
  const std::string message =
      "Daytona answered HTTP " + std::to_string(status) + ": " + fault.message;
  switch (status) {
    case 401:
    case 403: return Error{Code::kUnauthenticated, "provider_key_refused", message, 0};
    case 404:
    case 410: {
      const bool is_process = fault.code == "PROCESS_NOT_FOUND" || status == 410;
      return Error{Code::kNotFound, is_process ? "unknown_command" : "sandbox_not_found", message,
                   0};
    }
    case 408: return Error{Code::kDeadlineExceeded, "boot_timeout", message, 0};
    case 409: return Error{Code::kAlreadyExists, "name_in_use", message, 0};
    case 429: return Error{Code::kExhausted, "provider_quota", message, 0};
    default: break;
  }
  if (status >= 500) return Error{Code::kUnavailable, "provider_failed", message, 0};
  return Error{Code::kInvalidArgument, "provider_refused", message, 0};
}

Result<std::unique_ptr<http::Client>> daytona_client(const asio::any_io_executor& executor,
                                                     const DaytonaSettings& settings,
                                                     std::string url) {
  http::ClientOptions options;
  options.url = std::move(url);
  options.ca_file = settings.ca_file;
  if (!settings.token.empty()) options.headers.add("Authorization", "Bearer " + settings.token);
  if (!settings.organization.empty())
    options.headers.add("X-Daytona-Organization-ID", settings.organization);
  options.headers.add("X-Daytona-Source", "cay");
  options.headers.add("X-Daytona-SDK-Version", kSpokenVersion);
  return http::Client::create(executor, std::move(options));
}

Task<http::Response> daytona_request(http::Client& client, std::string method, std::string target,
                                     std::string body) {
  constexpr std::size_t kMostAnswer = 64u << 20;
  for (int tried = 1;; ++tried) {
    http::ClientRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    auto answer = co_await client.request(std::move(request), kMostAnswer);
    if (!answer || tried == kMostTries) co_return answer;
    if (answer->status != 429 && !is_safe_again(method, answer->status)) co_return answer;
    co_await sleep_for(pause_before(tried, *answer));
  }
}

Task<json::object> daytona_call(http::Client& client, std::string method, std::string target,
                                std::string body) {
  CAY_CO_TRY(const auto answer, co_await daytona_request(client, std::move(method),
                                                         std::move(target), std::move(body)));
  if (answer.status >= 300) co_return daytona_error(answer.status, answer.body);
  // Some successes have no body, or a body that is no object.
  if (!answer.body.starts_with('{')) co_return json::object();
  co_return codec::parse_object(answer.body);
}

DaytonaApi::DaytonaApi(asio::any_io_executor executor, DaytonaSettings settings,
                       std::unique_ptr<http::Client> client)
    : executor_(std::move(executor)), settings_(std::move(settings)), client_(std::move(client)) {}

Result<std::shared_ptr<DaytonaApi>> DaytonaApi::create(asio::any_io_executor executor,
                                                       DaytonaSettings settings) {
  CAY_TRY(auto client, daytona_client(executor, settings, settings.api_url));
  return std::make_shared<DaytonaApi>(std::move(executor), std::move(settings), std::move(client));
}

Task<json::object> DaytonaApi::call(std::string method, std::string target, std::string body) {
  auto answer =
      co_await daytona_call(*client_, std::move(method), std::move(target), std::move(body));
  co_return answer;
}

Task<json::object> DaytonaApi::ready(std::string id_or_name) {
  const auto begun = std::chrono::steady_clock::now();
  bool asked = false;
  for (;;) {
    CAY_CO_TRY(auto box, co_await call("GET", daytona_target(id_or_name)));
    const auto state = string_in(box, "state");
    if (state == "started" || state.empty()) co_return box;
    if (state == "destroyed" || state == "destroying") {
      co_return Error{Code::kNotFound, "sandbox_not_found",
                      "the sandbox " + id_or_name + " is " + state, 0};
    }
    if (state == "error" || state == "build_failed") {
      co_return Error{
          Code::kNotReady, "sandbox_not_ready",
          "the sandbox " + id_or_name + " is " + state + ": " + string_in(box, "errorReason"), 0};
    }
    if (is_at_rest(state) && !std::exchange(asked, true)) {
      CAY_CO_CHECK(co_await call("POST", daytona_target(id_or_name, "/start")));
      continue;
    }
    const auto limit = is_building(state) ? kBuildTime : kBootTime;
    if (std::chrono::steady_clock::now() - begun > limit) {
      co_return Error{Code::kDeadlineExceeded, "boot_timeout",
                      "the sandbox " + id_or_name + " is " + state + " for too long", 0};
    }
    co_await sleep_for(kPoll);
  }
}

}  // namespace cay::providers
