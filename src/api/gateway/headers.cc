#include "api/gateway/headers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "base/ascii.h"
#include "base/field_names.h"

namespace cay::api {
namespace {

// "127.0.0.1:51234", "::1:51234", or as a proxy names it, "127.0.0.1" or "[::1]": the address.
std::string host_of_peer(const std::string& peer) {
  if (peer.starts_with('[')) return peer.substr(1, peer.find(']') - 1);
  return peer.substr(0, peer.rfind(':'));
}

constexpr std::string_view kPlainCookie = "cay_service";
constexpr std::string_view kSecureCookie = "__Host-cay_service";

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::any_of(names.begin(), names.end(),
                     [name](std::string_view one) { return equals_ignoring_case(name, one); });
}
bool begins_with(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() &&
         equals_ignoring_case(name.substr(0, prefix.size()), prefix);
}

// RFC 9110, 7.6.1, and what else is of one connection alone.
constexpr std::array<std::string_view, 11> kHop = {"Connection",
                                                   "Keep-Alive",
                                                   "Proxy-Connection",
                                                   "Proxy-Authenticate",
                                                   "Proxy-Authorization",
                                                   "Proxy-Authentication-Info",
                                                   "TE",
                                                   "Trailer",
                                                   "Transfer-Encoding",
                                                   "Upgrade",
                                                   "Content-Length"};

using Declared = std::set<std::string, std::less<>>;

bool is_hop(std::string_view name, const Declared& declared) {
  return is_one_of(name, kHop) || declared.contains(lowered(name));
}

// As programs read a name, or the client's would pass for Cay's own word.
std::string as_programs_read(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), cay::as_programs_read);
  return out;
}

// A claim about the client by whoever stands in front. Cay makes its own. Nobody here vouches for a
// user's name either.
bool is_claim(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kClaims = {"Forwarded",
                                                              "X-Real-IP",
                                                              "Expect",
                                                              "X-Langsmith-User-Token",
                                                              "X-Langsmith-User-Id",
                                                              "X-Langsmith-User-Email"};
  return is_one_of(name, kClaims) || begins_with(name, "X-Forwarded-");
}

bool is_our_cookie(std::string_view name) { return name == kPlainCookie || name == kSecureCookie; }

struct Pair {
  std::string_view name, value, whole;
};
std::vector<Pair> cookies_in(std::string_view header) {
  std::vector<Pair> out;
  while (!header.empty()) {
    const auto end = std::min(header.find(';'), header.size());
    const auto whole = trimmed(header.substr(0, end));
    const auto equals = std::min(whole.find('='), whole.size());
    if (!whole.empty())
      out.push_back({trimmed(whole.substr(0, equals)),
                     trimmed(whole.substr(std::min(equals + 1, whole.size()))), whole});
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  return out;
}

// Returns the service's part of a Cookie header. Empty: none.
std::string other_cookies(std::string_view header) {
  std::string out;
  for (const auto& pair : cookies_in(header)) {
    if (!is_our_cookie(pair.name)) out += (out.empty() ? "" : "; ") + std::string(pair.whole);
  }
  return out;
}

bool carries_key(std::string_view name, std::string_view value,
                 const std::function<bool(std::string_view)>& is_key) {
  constexpr std::string_view kBearer = "Bearer ";
  if (equals_ignoring_case(name, "X-Api-Key")) return is_key(trimmed(value));
  return equals_ignoring_case(name, "Authorization") && begins_with(value, kBearer) &&
         is_key(trimmed(value.substr(kBearer.size())));
}

// A cookie of the service's: for its own host alone, and never ours. Empty: it is not passed.
std::string own_cookie(std::string_view value) {
  const auto pairs = cookies_in(value);
  if (pairs.empty() || is_our_cookie(pairs.front().name)) return {};
  std::string out(pairs.front().whole);
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    if (!equals_ignoring_case(pairs[i].name, "Domain")) out += "; " + std::string(pairs[i].whole);
  }
  return out;
}

// A header that would count for more than the service's own pages, or is meant for a proxy in front
// of Cay.
bool reaches_further(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kFurther = {"Alt-Svc",
                                                                "Clear-Site-Data",
                                                                "Strict-Transport-Security",
                                                                "Public-Key-Pins",
                                                                "NEL",
                                                                "Report-To",
                                                                "Set-Cookie2",
                                                                "X-Sendfile",
                                                                "X-Lighttpd-Send-File",
                                                                "X-Reproxy-URL"};
  return is_one_of(name, kFurther) || begins_with(name, "X-Accel-") || begins_with(name, "X-Cay-");
}

// A header that would count for Cay's own origin.
bool counts_for_cay(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kOrigin = {
      "Set-Cookie", "Service-Worker-Allowed", "Origin-Agent-Cluster", "Refresh",
      "Link",       "Reporting-Endpoints"};
  return is_one_of(name, kOrigin) || begins_with(name, "Access-Control-");
}

std::string path_prefix(const ServicePlace& place) {
  return "/svc/" + place.sandbox.get() + "/" + std::to_string(place.port);
}

}  // namespace

std::string cookie_name(std::string_view scheme) {
  return std::string(scheme == "https" ? kSecureCookie : kPlainCookie);
}

std::vector<std::string> cookie_tokens(const http::RequestHead& head) {
  const std::string wanted = cookie_name(head.scheme);
  std::vector<std::string> out;
  for (const auto& [name, value] : head.headers.items()) {
    if (!equals_ignoring_case(name, "Cookie")) continue;
    for (const auto& pair : cookies_in(value)) {
      if (pair.name == wanted) out.emplace_back(pair.value);
    }
  }
  return out;
}

http::Headers request_headers(const http::RequestHead& head, ServiceForm form,
                              const ServicePlace& place,
                              const std::function<bool(std::string_view)>& is_key) {
  Declared declared;
  for (const auto& one : http::connection_options(head.headers))
    declared.insert(as_programs_read(one));
  http::Headers out;
  out.add("Host", head.host);
  for (const auto& [name, value] : head.headers.items()) {
    const std::string read = as_programs_read(name);
    if (equals_ignoring_case(read, "Host") || is_hop(read, declared) || is_claim(read)) continue;
    if (equals_ignoring_case(read, kTokenHeader) ||
        equals_ignoring_case(read, kLangsmithTokenHeader) ||
        equals_ignoring_case(read, kDaytonaTokenHeader))
      continue;
    if (carries_key(read, value, is_key)) continue;
    if (!equals_ignoring_case(name, "Cookie")) {
      out.add(name, value);
    } else if (form == ServiceForm::kHost) {  // by a path, all cookies are Cay's origin's
      if (auto cookies = other_cookies(value); !cookies.empty()) out.add(name, std::move(cookies));
    }
  }
  out.add("X-Forwarded-For", host_of_peer(head.peer));
  out.add("X-Forwarded-Proto", head.scheme);
  out.add("X-Forwarded-Host", head.host);
  if (form == ServiceForm::kPath) out.add("X-Forwarded-Prefix", path_prefix(place));
  return out;
}

http::Headers answer_headers(const http::Headers& from, ServiceForm form,
                             const ServicePlace& place) {
  const Declared declared = http::connection_options(from);
  http::Headers out;
  for (const auto& [name, value] : from.items()) {
    if (is_hop(name, declared) || reaches_further(name)) continue;
    if (form == ServiceForm::kPath && counts_for_cay(name)) continue;
    if (equals_ignoring_case(name, "Set-Cookie")) {
      if (auto cookie = own_cookie(value); !cookie.empty()) out.add(name, std::move(cookie));
    } else if (form == ServiceForm::kPath && equals_ignoring_case(name, "Location") &&
               value.starts_with('/') && !value.starts_with("//")) {
      out.add(name, path_prefix(place) + value);
    } else {
      out.add(name, value);
    }
  }
  if (form == ServiceForm::kPath) {  // a page of it that a browser shows after all has an origin of
                                     // its own, and may do little
    out.add("Content-Security-Policy", "sandbox; default-src 'none'");
    out.set("X-Content-Type-Options", "nosniff");
    out.set("Cross-Origin-Resource-Policy", "same-origin");
  }
  return out;
}

bool is_cross_origin(const http::RequestHead& head) {
  const auto site = head.headers.get("Sec-Fetch-Site");
  const auto mode = head.headers.get("Sec-Fetch-Mode").value_or("");
  const auto target = head.headers.get("Sec-Fetch-Dest").value_or("");
  const auto origin = head.headers.get("Origin");
  if (site && *site != "same-origin" && *site != "none") {
    // Following a link into it is what links are for.
    const bool followed = mode == "navigate" && target == "document" &&
                          (head.method == "GET" || head.method == "HEAD");
    if (!followed) return true;
  }
  return origin && *origin != head.scheme + "://" + head.host;
}

}  // namespace cay::api
