#include "base/ascii.h"
#include "forward.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>

#include "api/langsmith/errors.h"
#include "async/mutex.h"
#include "codec/json.h"
#include "http/client.h"
#include "model/ids.h"
#include "secret_file.h"

namespace cay::app {
namespace {

constexpr std::size_t kMaxAnswer = 64u << 20;
constexpr Millis kUpstreamLimit{60'000};
constexpr std::size_t kMaxInfo = 64u << 10;
constexpr Millis kInfoLimit{3'000};
constexpr Millis kInfoKept{60'000};
constexpr Millis kInfoConnect{2'000};
constexpr Millis kInfoAgain{15'000};  // after it did not answer

using api::langsmith::Passing;

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::any_of(
      names, [name](std::string_view one) { return equals_ignoring_case(one, name); });
}

// Returns true for the headers that are passed on. All others stay here: keys, cookies, headers of
// proxies, and those that make a server take a request for another one.
bool goes_up(std::string_view name, Passing what) {
  static constexpr std::string_view kAlways[] = {"Accept", "Accept-Encoding", "Content-Encoding",
                                                 "Content-Type", "User-Agent"};
  // These choose the workspace, and so the owner: not for keys that may only post.
  static constexpr std::string_view kOfAnything[] = {"If-Match",          "If-None-Match",
                                                     "Langsmith-Project", "Range",
                                                     "X-Organization-Id", "X-Tenant-Id"};
  return is_one_of(name, kAlways) || (what == Passing::kAnything && is_one_of(name, kOfAnything));
}

// Hop-by-hop; and what is between the upstream and us.
bool comes_down(std::string_view name) {
  static constexpr std::string_view kNever[] = {"Connection",
                                                "Content-Length",
                                                "Keep-Alive",
                                                "Location",
                                                "Proxy-Authenticate",
                                                "Set-Cookie",
                                                "TE",
                                                "Trailer",
                                                "Transfer-Encoding",
                                                "Upgrade",
                                                "WWW-Authenticate"};
  return !is_one_of(name, kNever);
}

Error not_for(const TenantId& tenant) {
  return {Code::kPermissionDenied, "upstream_not_for_tenant",
          "keys of the tenant '" + tenant.get() +
              "' may not use [langsmith] upstream: whoever runs the daemon names it in "
              "upstream_tenants",
          0};
}

// A client that follows a redirect would send its key of Cay's there.
Error is_redirect() {
  return {Code::kUnavailable, "upstream_redirects",
          "[langsmith] upstream answered with a redirect, which is neither followed nor passed on: "
          "it would take a key to another host",
          0};
}

std::optional<std::uint64_t> length_of(const http::RequestHead& head) {
  const auto text = head.headers.get("Content-Length");
  std::uint64_t length = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), length).ec != std::errc())
    return std::nullopt;
  return length;
}

struct To {
  std::unique_ptr<http::Client> client;
  std::string key;
  std::vector<std::string> tenants;
};

http::Response answered(http::Response got) {
  constexpr int kRedirects = 300, kNotModified = 304, kClientErrors = 400;
  if (got.status >= kRedirects && got.status < kClientErrors && got.status != kNotModified) {
    return api::langsmith::both_ways(502, "ConnectionError", is_redirect());
  }
  http::Response out;
  out.status = got.status;
  out.body = std::move(got.body);
  for (const auto& [name, value] : got.headers.items()) {
    if (comes_down(name)) out.headers.add(name, value);
  }
  return out;
}

asio::awaitable<void> pass_on(std::shared_ptr<To> to, std::shared_ptr<http::Exchange> exchange,
                              Passing what) {
  const TenantId& tenant = exchange->principal().tenant;
  if (std::ranges::find(to->tenants, tenant.get()) == to->tenants.end()) {
    auto refusal = api::langsmith::both_ways(403, "Forbidden", not_for(tenant));
    co_await exchange->respond(std::move(refusal));
    co_return;
  }
  http::ClientRequest request;
  request.method = exchange->head().method;
  request.target = exchange->head().target;
  if (what == Passing::kRuns)
    request.target.resize(std::min(request.target.find('?'), request.target.size()));
  for (const auto& [name, value] : exchange->head().headers.items()) {
    if (goes_up(name, what)) request.headers.add(name, value);
  }
  if (!to->key.empty()) request.headers.set("X-Api-Key", to->key);
  if (request.method != "GET" && request.method != "HEAD") {
    request.stream = exchange->body();
    request.stream_length = length_of(exchange->head());
  }
  auto got = co_await to->client->request(std::move(request), kMaxAnswer);
  http::Response response;
  if (got) {
    response = answered(*std::move(got));
  } else {
    spdlog::warn("traces are not passed on: {}", got.error().message);
    response = api::langsmith::envelope(
        502, "ConnectionError",
        "the traces could not be passed on to [langsmith] upstream: " + got.error().message, "");
  }
  co_await exchange->respond(std::move(response));
}

class UpstreamInfo {
 public:
  UpstreamInfo(asio::any_io_executor loop, std::unique_ptr<http::Client> client)
      : turn_(std::move(loop)), client_(std::move(client)) {}

  asio::awaitable<codec::json::object> settings() {
    const auto turn = co_await turn_.lock();  // clients come in bursts: one request goes up
    if (std::chrono::steady_clock::now() < fresh_until_) co_return known_;
    http::ClientRequest request;
    request.method = "GET";
    request.target = "/info";
    request.headers.set("Accept", "application/json");
    auto got = co_await client_->request(std::move(request), kMaxInfo);
    const bool told = got && got->status == 200 && take(got->body);
    fresh_until_ = std::chrono::steady_clock::now() + (told ? kInfoKept : kInfoAgain);
    co_return known_;
  }

 private:
  bool take(const std::string& text) {
    const auto body = codec::parse_object(text);
    if (!body) return false;
    known_.clear();
    for (const char* name : {"batch_ingest_config", "instance_flags"}) {
      const auto* value = body->if_contains(name);
      if (value != nullptr && value->is_object()) known_[name] = *value;
    }
    return true;
  }

  Mutex turn_;
  std::unique_ptr<http::Client> client_;
  codec::json::object known_;
  std::chrono::steady_clock::time_point fresh_until_{};
};

Result<std::unique_ptr<http::Client>> client_of(asio::any_io_executor loop,
                                                const LangsmithUpstream& upstream, Millis limit) {
  http::ClientOptions options;
  options.url = upstream.url;
  options.ca_file = upstream.ca_file;
  options.response_timeout = limit;
  if (limit == kInfoLimit) options.connect_timeout = kInfoConnect;
  auto made = http::Client::create(std::move(loop), std::move(options));
  if (!made) return std::move(made).error().while_doing("[langsmith] upstream");
  return made;
}

}  // namespace

Result<void> settle_upstream(LangsmithUpstream& upstream) {
  const auto wrong = [](const std::string& why) {
    return Error{Code::kInvalidArgument, "bad_config", "langsmith." + why, 0};
  };
  if (!upstream.key.empty() && !upstream.key_file.empty()) {
    return wrong(
        "upstream_key and langsmith.upstream_key_file are both set: leave the key to the file");
  }
  if (!upstream.key_file.empty()) {
    CAY_TRY(upstream.key, read_secret_file("langsmith.upstream_key_file", upstream.key_file));
  }
  if (!std::ranges::all_of(upstream.key, [](char c) { return c > ' ' && c < 0x7f; })) {
    return wrong("upstream_key, or the file's, has a character in it that no key has");
  }
  for (const std::string& tenant : upstream.tenants) {
    if (!is_valid_name(tenant))
      return wrong("upstream_tenants: '" + tenant + "' is no tenant's name");
  }
  return {};
}

Result<Forwarder> forwarder(asio::any_io_executor loop, const LangsmithUpstream& upstream) {
  if (upstream.url.empty()) return Forwarder();
  CAY_TRY(auto client, client_of(std::move(loop), upstream, kUpstreamLimit));
  auto to = std::make_shared<To>(std::move(client), upstream.key, upstream.tenants);
  return Forwarder([to](std::shared_ptr<http::Exchange> exchange, Passing what) {
    return pass_on(to, std::move(exchange), what);
  });
}

Result<Ingestion> ingestion(asio::any_io_executor loop, const LangsmithUpstream& upstream) {
  if (upstream.url.empty()) return Ingestion();
  CAY_TRY(auto client, client_of(loop, upstream, kInfoLimit));
  auto info = std::make_shared<UpstreamInfo>(std::move(loop), std::move(client));
  return Ingestion([info] { return info->settings(); });
}

}  // namespace cay::app
