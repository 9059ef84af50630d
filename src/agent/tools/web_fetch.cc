#include "agent/tools/web_fetch.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "agent/llm/outward_proxy.h"
#include "agent/tools/html_text.h"
#include "async/bytes.h"
#include "async/deadline.h"
#include "base/ascii.h"
#include "base/ip_address.h"
#include "codec/utf8.h"
#include "http/client.h"

namespace cay::agent {
namespace {

constexpr int kMostRedirects = 5;

Error bad_url(std::string_view url) {
  return {Code::kInvalidArgument, "bad_url",
          "'" + std::string(url) + "' is no http:// or https:// URL of a host"};
}

// An address of the public internet, in every form that it may carry.
bool is_public(const IpAddress& address) {
  if (is_special(address)) return false;
  const auto carried = carried_by(address);
  return std::none_of(carried.begin(), carried.end(),
                      [](const IpAddress& inner) { return is_special(inner); });
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// The Location of a redirect as a whole URL.
std::string resolved(const WebUrl& from, std::string_view location) {
  if (location.find("://") != std::string_view::npos) return std::string(location);
  if (location.starts_with("//")) return from.scheme + ":" + std::string(location);
  if (location.starts_with('/')) return from.origin + std::string(location);
  const auto path = from.target.substr(0, from.target.find('?'));
  return from.origin + path.substr(0, path.rfind('/') + 1) + std::string(location);
}

struct Fetched {
  WebPage page;
  std::string location;  // of a redirect
};

Task<Fetched> fetch_one(WebPolicy policy, WebUrl url, std::string key) {
  http::ClientOptions options;
  options.url = url.origin;
  options.ca_file = policy.ca_file;
  options.response_timeout = policy.timeout;
  if (!policy.special_addresses) {
    options.may_dial = is_public;
    options.checks_all = true;
  }
  options.proxy = outward_proxy(options.url, process_environment());
  auto executor = co_await asio::this_coro::executor;
  CAY_CO_TRY(const auto client, http::Client::create(executor, std::move(options)));
  http::ClientRequest request;
  request.target = url.target;
  request.headers.add("User-Agent", "cay-agent");
  request.headers.add("Accept", "text/html, text/*, application/json;q=0.9, */*;q=0.1");
  if (!key.empty()) request.headers.add("Authorization", "Bearer " + key);
  auto answer = co_await client->send(std::move(request));
  if (!answer) co_return std::move(answer).error();
  Fetched out;
  out.page.url = url.origin + url.target;
  out.page.status = answer->status;
  const auto type = answer->headers.get("Content-Type").value_or("text/plain");
  out.page.type = lowered(type.substr(0, type.find(';')));
  if (is_redirect(answer->status)) {
    out.location = std::string(answer->headers.get("Location").value_or(""));
    co_return out;
  }
  auto body = co_await read_head(std::move(answer->body), policy.max_bytes);
  if (!body) co_return std::move(body).error();
  out.page.body = std::move(body->bytes);
  out.page.truncated = body->more;
  co_return out;
}

Task<WebPage> fetch_all(WebPolicy policy, std::string url, std::string key) {
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    CAY_CO_TRY(auto parsed, parse_web_url(url));
    if (!allows_host(policy, parsed.host)) {
      co_return Error{Code::kPermissionDenied, "host_not_allowed",
                      "the host '" + parsed.host + "' is not one that web_fetch may reach", 0};
    }
    const WebUrl from = parsed;
    auto got = co_await fetch_one(policy, std::move(parsed), std::exchange(key, {}));
    if (!got) co_return std::move(got).error();
    if (got->location.empty()) co_return std::move(got->page);
    url = resolved(from, got->location);
  }
  co_return Error{Code::kInvalidArgument, "too_many_redirects",
                  "the server redirects more than " + std::to_string(kMostRedirects) + " times", 0};
}

}  // namespace

Result<WebUrl> parse_web_url(std::string_view url) {
  WebUrl out;
  const auto colon = url.find("://");
  if (colon == std::string_view::npos) return bad_url(url);
  out.scheme = lowered(url.substr(0, colon));
  if (out.scheme != "http" && out.scheme != "https") return bad_url(url);
  const auto rest = url.substr(colon + 3);
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  const auto authority = rest.substr(0, end);
  auto target = rest.substr(end);
  target = target.substr(0, target.find('#'));
  for (const char c : url) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '\\') return bad_url(url);
  }
  if (authority.empty() || authority.find('@') != std::string_view::npos) return bad_url(url);
  const auto port =
      authority.starts_with('[') ? authority.find(':', authority.find(']')) : authority.find(':');
  out.host = lowered(authority.substr(0, port));
  while (out.host.ends_with('.')) out.host.pop_back();
  if (out.host.empty()) return bad_url(url);
  out.origin = out.scheme + "://" + lowered(authority);
  out.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  return out;
}

bool allows_host(const WebPolicy& policy, std::string_view host) {
  return std::any_of(policy.hosts.begin(), policy.hosts.end(), [&](const std::string& pattern) {
    const std::string rule = lowered(pattern);
    if (rule == "*" || rule == host) return true;
    return rule.starts_with("*.") && host.size() > rule.size() - 1 &&
           host.ends_with(std::string_view(rule).substr(1));
  });
}

Task<WebPage> web_fetch(WebPolicy policy, std::string url, std::string key) {
  const auto limit = policy.timeout;
  auto fetched = co_await with_deadline(
      fetch_all(std::move(policy), std::move(url), std::move(key)), limit, "the request");
  co_return fetched;
}

std::string page_text(const WebPage& page) {
  if (page.type == "text/html" || page.type == "application/xhtml+xml") {
    return html_text(page.body);
  }
  const bool text = page.type.starts_with("text/") || page.type.ends_with("json") ||
                    page.type.ends_with("xml") || page.type == "application/javascript";
  return text ? codec::sanitised_utf8(page.body) : std::string();
}

}  // namespace cay::agent
