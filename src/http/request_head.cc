#include "http/request_head.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/ip_address.h"
#include "http/target.h"
#include "http/text.h"

namespace cay::http {
namespace {

namespace bhttp = boost::beast::http;

constexpr int kMaxFields = 128;

// Empty is for HTTP/1.0. Brackets stand around an IPv6 address alone, and behind them a port (RFC
// 3986, 3.2.2).
bool is_host(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view address = text.substr(1, end - 1);
    if (address.find(':') == std::string_view::npos || !IpAddress::parse(address)) return false;
    text.remove_prefix(end + 1);
    return text.empty() || (text.starts_with(':') &&
                            text.find_first_not_of("0123456789", 1) == std::string_view::npos);
  }
  return text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:") ==
         std::string_view::npos;
}

BadRequest bad(int status, const char* reason, std::string message) {
  return {status, Error{Code::kInvalidArgument, reason, std::move(message), 0}};
}

}  // namespace

// Two parsers that disagree about a body's length are how requests are smuggled.
std::optional<BadRequest> bad_framing_of(const Headers& headers, unsigned version) {
  const auto told = [&](std::string_view field) {
    return std::ranges::count_if(
        headers.items(), [&](const auto& one) { return equals_ignoring_case(one.first, field); });
  };
  const auto lengths = told("Content-Length"), codings = told("Transfer-Encoding");
  const auto coding = headers.get("Transfer-Encoding");
  const bool repeated = lengths > 1 || codings > 1 || (lengths > 0 && codings > 0);
  if (repeated ||
      (lengths > 0 && headers.get("Content-Length")->find(',') != std::string_view::npos)) {
    return bad(400, "bad_framing", "the request has two lengths of its body");
  }
  if (coding && version < 11) return bad(400, "bad_framing", "HTTP/1.0 has no transfer codings");
  if (coding && !equals_ignoring_case(*coding, "chunked"))
    return bad(501, "bad_framing", "chunked is the only transfer coding taken");
  return std::nullopt;
}

std::variant<RequestHead, BadRequest> head_of(const bhttp::request<bhttp::buffer_body>& request,
                                              std::string peer, bool secured) {
  RequestHead head;
  if (secured) head.scheme = "https";
  head.method = std::string(request.method_string());
  head.target = std::string(request.target());
  head.peer = std::move(peer);
  int hosts = 0, fields = 0;
  for (const auto& field : request) {
    if (++fields > kMaxFields)
      return bad(431, "head_too_large", "the request has more than 128 headers");
    // A repeated or folded framing field is how requests are smuggled past a proxy.
    const std::string_view name(field.name_string().data(), field.name_string().size());
    const std::string_view value(field.value().data(), field.value().size());
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return bad(400, "bad_header", "a header has a line break in its value");
    }
    hosts += equals_ignoring_case(name, "Host") ? 1 : 0;
    head.headers.add(std::string(name), std::string(value));
  }
  head.host = std::string(head.headers.get("Host").value_or(""));
  if (hosts > 1 || (hosts == 0 && request.version() >= 11) || !is_host(head.host)) {
    return bad(400, "bad_host", "the request needs one Host header, with a host in it");
  }
  if (auto framing = bad_framing_of(head.headers, request.version())) return *std::move(framing);
  const auto expect = head.headers.get("Expect");
  if (expect && !equals_ignoring_case(*expect, "100-continue"))
    return bad(417, "bad_expectation", "only 100-continue may be expected");
  const auto parts = split_target(head.target);
  if (!parts) return bad(400, "bad_target", "the request's target is not a path");
  // The host of an absolute-form target is the one that counts (RFC 9112, section 3.2.2): it is
  // checked as Host is.
  if (!parts->authority.empty()) head.host = std::string(parts->authority);
  if (!is_host(head.host))
    return bad(400, "bad_target", "the request's target has no proper host in it");
  auto segments = split_path(parts->path);
  if (!segments)
    return bad(400, "bad_target", "the request's path has a malformed escape or a NUL");
  head.segments = *std::move(segments);
  auto query = Query::parse(parts->query);
  if (!query) return bad(400, "bad_query", "the request's query has a malformed escape or a NUL");
  head.query = *std::move(query);
  if (!parts->authority.empty()) {
    head.target =
        std::string(parts->path) + (parts->query.empty() ? "" : "?") + std::string(parts->query);
  }
  // RFC 6455, section 4.1: a GET; and what follows its head is the new protocol's, not a body's.
  const bool bare = head.method == "GET" && request.version() >= 11 &&
                    !head.headers.get("Transfer-Encoding") &&
                    head.headers.get("Content-Length").value_or("0") == "0";
  const bool upgrade = bare && list_has(head.headers.get("Connection").value_or(""), "upgrade");
  const auto wanted = head.headers.get("Upgrade").value_or("");
  head.wants_websocket = upgrade && equals_ignoring_case(wanted, "websocket");
  head.wants_tunnel = upgrade && equals_ignoring_case(wanted, "cay-tunnel");
  return head;
}

}  // namespace cay::http
