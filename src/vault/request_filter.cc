#include "vault/request_filter.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.h"
#include "base/field_names.h"
#include "http/target.h"
#include "model/path_pattern.h"
#include "model/proxy.h"
#include "vault/request_path.h"

namespace cay::vault {
namespace {

constexpr std::size_t kMostTold = 4;  // rules, and patterns of one

Error denied(const char* reason, std::string message) {
  return {Code::kPermissionDenied, reason, std::move(message), 0};
}

// Header fields that request another method. Some APIs take them in the query, too.
constexpr std::array kOverrides = {"X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"};
constexpr std::array kOtherPaths = {"X-Original-URL", "X-Rewrite-URL"};
// As frameworks have it, Salesforce's API, Struts, and what Google's APIs take for headers.
constexpr std::array kQueryOverrides = {"_method", "_HttpMethod", "_http_method", "__httpMethod",
                                        "$httpHeaders"};

bool reads_as_any(std::string_view name, std::span<const char* const> names) {
  return std::ranges::any_of(names, [&](const char* one) { return reads_as(name, one); });
}
bool any_header(const http::Headers& headers, std::span<const char* const> names) {
  return std::ranges::any_of(headers.items(),
                             [&](const auto& one) { return reads_as_any(one.first, names); });
}

// Returns the name of a field as servers read it. They keep an invalid escape as it is. Some end
// the name at a NUL or at a bracket, and read a dot as '_'.
std::string field_name(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto escaped = text.front() == '%'
                             ? http::percent_decode(text.substr(0, 3), http::Plus::kLiteral)
                             : std::nullopt;
    const char c = escaped ? escaped->front() : text.substr(0, 3) == "%00" ? '\0' : text.front();
    if (c == '[' || c == '\0') break;
    out += c == '.' ? '_' : c == '+' && !escaped ? ' ' : c;
    text.remove_prefix(escaped ? 3 : 1);
  }
  return out;
}

// "_method=DELETE", also written "%5Fmethod", and in any case.
bool query_overrides(std::string_view query) {
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = std::min(query.find_first_of("&;", at), query.size());
    const std::string_view pair = query.substr(at, end - at);
    const std::string field = field_name(pair.substr(0, pair.find('=')));
    const std::string_view name = trimmed(field);
    if (reads_as_any(name, kQueryOverrides) || reads_as_any(name, kOverrides)) return true;
    at = end + 1;
  }
  return false;
}

template <class T>
std::string listed(const std::vector<T>& all, std::string_view between) {
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kMostTold); ++i)
    out += (i == 0 ? std::string() : std::string(between)) + all[i];
  if (all.size() > kMostTold) out += " and " + std::to_string(all.size() - kMostTold) + " more";
  return out;
}

}  // namespace

Result<RequestFilter> RequestFilter::create(HostRules rules, std::string method,
                                            std::string_view target, const http::Headers& headers) {
  RequestFilter out;
  out.rules_ = std::move(rules);
  out.method_ = std::move(method);
  out.target_ = std::string(target);
  const std::size_t end = std::min(target.find('?'), target.size());
  const std::string_view query = target.substr(std::min(end + 1, target.size()));
  const bool of_methods = std::ranges::any_of(
      out.rules_, [](const wire::VaultRule* one) { return !one->methods.empty(); });
  const bool of_paths = std::ranges::any_of(
      out.rules_, [](const wire::VaultRule* one) { return !one->paths.empty(); });
  if (of_methods && (any_header(headers, kOverrides) || query_overrides(query))) {
    return denied(
        "method_overridden",
        "the rules of this host name methods, so a request must not name another method in "
        "a header or its query (X-HTTP-Method-Override, _method)");
  }
  if (!of_paths) return out;
  if (any_header(headers, kOtherPaths)) {
    return denied("method_overridden",
                  "the rules of this host name paths, so a request must not name another path in "
                  "a header (X-Original-URL, X-Rewrite-URL)");
  }
  auto path = read_path(target.substr(0, end));
  if (!path) {
    return denied("ambiguous_path",
                  "the rules of this host name paths, and this one could be read as another: write "
                  "it without //, \\, escaped slashes, dots or percent signs");
  }
  out.path_ = std::move(path->read);
  out.target_ = path->sent + std::string(target.substr(end));
  return out;
}

bool RequestFilter::has_method(const wire::VaultRule& rule) const {
  return rule.methods.empty() || std::ranges::any_of(rule.methods, [&](const std::string& one) {
           return one == method_ || (one == "GET" && method_ == "HEAD");
         });
}

bool RequestFilter::has_path(const wire::VaultRule& rule) const {
  return rule.paths.empty() || std::ranges::any_of(rule.paths, [&](const std::string& pattern) {
           return path_matches(pattern, path_);
         });
}

bool RequestFilter::allows(const wire::VaultRule& rule) const {
  return has_method(rule) && has_path(rule);
}

Error RequestFilter::refusal(std::string_view where) const {
  const bool has_its_path =
      std::ranges::any_of(rules_, [&](const wire::VaultRule* one) { return has_path(*one); });
  std::vector<std::string> allowed;
  for (const wire::VaultRule* one : rules_) {
    allowed.push_back((one->methods.empty() ? "any method" : listed(one->methods, ", ")) + " of " +
                      (one->paths.empty() ? "any path" : listed(one->paths, ", ")));
  }
  const std::string method = is_proxy_method(method_) ? method_ : "this method";
  return denied(has_its_path ? "method_not_in_rule" : "path_not_in_rule",
                method + " is not allowed at this path of " + std::string(where) + ": allowed is " +
                    listed(allowed, "; "));
}

}  // namespace cay::vault
