#include "providers/langsmith_api.h"

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

constexpr int kTries = 4;
constexpr Millis kReadyTime{120'000};

bool may_pass(int status) { return status == 502 || status == 503 || status == 504; }

std::string box_target(const std::string& ref, std::string_view rest = {}) {
  return "/boxes/" + http::encode_segment(ref) + std::string(rest);
}

}  // namespace

LangSmithSettings LangSmithSettings::from_environment() {
  LangSmithSettings out;
  out.endpoint = first_set({"LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT"});
  if (out.endpoint.empty()) out.endpoint = "https://api.smith.langchain.com";
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  out.api_key = first_set({"LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"});
  out.ca_file = first_set({"CAY_CA_FILE"});
  return out;
}

LangSmithFault langsmith_fault(std::string_view body) {
  LangSmithFault out;
  const auto parsed = codec::parse_object(body);
  const json::value* detail = parsed ? parsed->if_contains("detail") : nullptr;
  if (detail != nullptr && detail->is_object()) {
    out.type = string_in(detail->get_object(), "error");
    out.message = string_in(detail->get_object(), "message");
  } else if (detail != nullptr && detail->is_string()) {
    out.message = std::string(detail->get_string());
  } else if (detail != nullptr) {
    out.message = codec::write(*detail);
  } else if (parsed) {
    out.type = string_in(*parsed, "error");
    out.message = string_in(*parsed, "message");
  }
  if (out.message.empty()) out.message = std::string(body.substr(0, 300));
  return out;
}

Error langsmith_error(int status, std::string_view body) {
  const auto fault = langsmith_fault(body);
  const std::string message =
      "LangSmith answered HTTP " + std::to_string(status) + ": " + fault.message;
  switch (status) {
    case 401:
    case 403: return Error{Code::kUnauthenticated, "provider_key_refused", message, 0};
    case 404: return Error{Code::kNotFound, "sandbox_not_found", message, 0};
    case 408: return Error{Code::kDeadlineExceeded, "boot_timeout", message, 0};
    case 409: return Error{Code::kAlreadyExists, "name_in_use", message, 0};
    case 429: return Error{Code::kExhausted, "provider_quota", message, 0};
    default: break;
  }
  if (fault.type == "NotReady" || fault.type == "ServiceUnavailable") {
    return Error{Code::kNotReady, "sandbox_not_ready", message, 0};
  }
  if (status >= 500) return Error{Code::kUnavailable, "provider_failed", message, 0};
  return Error{Code::kInvalidArgument, "provider_refused", message, 0};
}

Result<std::unique_ptr<http::Client>> langsmith_client(const asio::any_io_executor& executor,
                                                       const LangSmithSettings& settings,
                                                       std::string url) {
  http::ClientOptions options;
  options.url = std::move(url);
  options.ca_file = settings.ca_file;
  if (!settings.api_key.empty()) options.headers.add("X-Api-Key", settings.api_key);
  return http::Client::create(executor, std::move(options));
}

LangSmithApi::LangSmithApi(asio::any_io_executor executor, LangSmithSettings settings,
                           std::unique_ptr<http::Client> client)
    : executor_(std::move(executor)), settings_(std::move(settings)), client_(std::move(client)) {}

Result<std::shared_ptr<LangSmithApi>> LangSmithApi::create(asio::any_io_executor executor,
                                                           LangSmithSettings settings) {
  CAY_TRY(auto client, langsmith_client(executor, settings, settings.endpoint + "/v2/sandboxes"));
  return std::shared_ptr<LangSmithApi>(
      new LangSmithApi(std::move(executor), std::move(settings), std::move(client)));
}

Task<json::object> LangSmithApi::call(std::string method, std::string target, std::string body) {
  for (int tried = 1;; ++tried) {
    http::ClientRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    auto answer = co_await client_->request(std::move(request));
    if (!answer) co_return std::move(answer).error();
    if (answer->status < 300) co_return codec::parse_object(answer->body, codec::Empty::kIsObject);
    if (tried == kTries || !may_pass(answer->status)) {
      co_return langsmith_error(answer->status, answer->body);
    }
    co_await sleep_for(Millis(500 << tried));
  }
}

Task<json::object> LangSmithApi::ready(std::string ref) {
  const auto end = deadline_in(kReadyTime);
  bool started = false;
  for (;;) {
    auto box = co_await call("GET", box_target(ref));
    if (!box) co_return box;
    const auto status = string_in(*box, "status");
    if (status == "ready" || status.empty()) co_return box;
    if (status == "failed" || status == "deleting") {
      co_return Error{
          Code::kNotReady, "sandbox_not_ready",
          "the sandbox " + ref + " is " + status + ": " + string_in(*box, "status_message"), 0};
    }
    if (status == "stopped" && !std::exchange(started, true)) {
      auto asked = co_await call("POST", box_target(ref, "/start"), "{}");
      if (!asked) co_return asked;
    }
    if (std::chrono::steady_clock::now() > end) {
      co_return Error{Code::kDeadlineExceeded, "boot_timeout",
                      "the sandbox " + ref + " is " + status + " for too long", 0};
    }
    co_await sleep_for(Millis(500));
  }
}

}  // namespace cay::providers
