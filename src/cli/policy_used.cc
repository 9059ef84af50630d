#include "cli/policy_used.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/ascii.h"
#include "cay/error.h"
#include "cli/answers.h"
#include "model/proxy.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr int kHttp = 80, kHttps = 443;

int number_of(const json::object& from, const char* name) {
  return static_cast<int>(std::strtol(text_of(from, name).c_str(), nullptr, 10));
}

bool is_proxied(const Used& one, const std::vector<std::string>& proxied) {
  return std::ranges::any_of(proxied, [&](const std::string& text) {
    const auto host = parse_proxy_host(text);
    return host && host->matches(one.host,
                                 one.port == 0 ? host->port : static_cast<std::uint16_t>(one.port));
  });
}

}  // namespace

Target target_of(const std::string& text) {
  Target out;
  std::string at = text;
  if (const std::size_t scheme = at.find("://"); scheme != std::string::npos) {
    const std::string_view word = std::string_view(at).substr(0, scheme);
    if (word == "https" || word == "wss") out.port = kHttps;
    if (word == "http" || word == "ws") out.port = kHttp;
    at.erase(0, scheme + 3);
    const std::size_t end = std::min(at.find_first_of("/?#"), at.size());
    out.path = at.substr(end, at.find_first_of("?#", end) - end);
    at.erase(end);
    at.erase(0, at.rfind('@') + 1);  // npos + 1 is 0
  }
  const std::size_t colon = at.rfind(':');
  const bool six = at.find(':') != colon && !at.starts_with('[');
  const bool bracketed = at.ends_with(']');
  out.host = colon == std::string::npos || six || bracketed ? at : at.substr(0, colon);
  if (out.host.size() < at.size()) {
    const std::string digits = at.substr(colon + 1);
    if (digits.empty() || digits.size() > 5 || !std::ranges::all_of(digits, is_digit)) {
      throw ApiError(ErrorCode::kInvalidArgument, "invalid_field",
                     "'" + text + "' has no port: write HOST:443");
    }
    out.port = std::stoi(digits);
  }
  if (out.host.starts_with('[') && out.host.ends_with(']'))
    out.host = out.host.substr(1, out.host.size() - 2);
  return out;
}

std::optional<Target> one_host(const std::string& rule) {
  const bool is_several =
      rule.find_first_of("*~!@, \t\n") != std::string::npos || rule.ends_with("/");
  // A name of one word without a port is a policy's; what has a slash behind its host is a network,
  // or no rule.
  const std::size_t scheme = rule.find("://");
  const bool has_slash =
      rule.find('/', scheme == std::string::npos ? 0 : scheme + 3) != std::string::npos;
  if (is_several || has_slash || rule.find_first_of(".:") == std::string::npos) return std::nullopt;
  try {
    return target_of(rule);
  } catch (const ApiError&) {
    return std::nullopt;  // more than one port
  }
}

std::string Used::text() const {
  if (port == 0)
    return host.find('.') == std::string::npos ? host + ":*"
                                               : host;  // a name of one word would be a policy's
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
         std::to_string(port);
}

std::vector<Used> used_of(const json::object& report, const std::vector<std::string>& proxied) {
  std::vector<Used> out;
  const auto* items = report.if_contains("items");
  if (items == nullptr || !items->is_array()) return out;
  for (const auto& item : items->get_array()) {
    if (!item.is_object()) continue;
    const auto& line = item.get_object();
    Used one{.host = text_of(line, "host"),
             .port = number_of(line, "port"),
             .count = 0,
             .allowed = text_of(line, "verdict") == "allowed",
             .in_the_way = text_of(line, "in_the_way"),
             .advice = text_of(line, "advice")};
    // A host that was let through once was used, even if a later policy refuses it. So is one that
    // is let through by now.
    one.passes = one.allowed || (text_of(line, "needs").empty() && one.in_the_way.empty());
    const auto count = static_cast<std::uint64_t>(number_of(line, "count"));
    const bool nothing_used = one.allowed && one.port == 0;  // a name that has no address
    // A program's own name for a host must not become a rule for others.
    const bool no_hosts_name =
        one.host.empty() || one.host.find_first_of("*~!@/\\, ") != std::string::npos;
    if (nothing_used || no_hosts_name || is_proxied(one, proxied)) continue;
    const auto known = std::ranges::find_if(
        out, [&](const Used& other) { return other.host == one.host && other.port == one.port; });
    if (known == out.end()) {
      one.count = count;
      out.push_back(std::move(one));
    } else {
      one.count = known->count + count;
      one.passes = one.passes || known->allowed;
      one.allowed = one.allowed || (known->allowed && text_of(line, "reason") == "policy_changed");
      *known = std::move(one);  // the latest is what holds
    }
  }
  // A host with a connection was looked up.
  const std::vector<Used> all = out;
  std::erase_if(out, [&](const Used& one) {
    return one.port == 0 && std::ranges::any_of(all, [&](const Used& other) {
             return other.port != 0 && other.host == one.host;
           });
  });
  return out;
}

bool lets_all_through(const json::object& report) {
  if (text_of(report, "policy") == "open") return true;
  const auto* rules = report.if_contains("rules");
  if (rules == nullptr || !rules->is_array()) return false;
  return std::ranges::any_of(rules->get_array(), [](const json::value& one) {
    return one.is_string() && (one.get_string() == "default allow" || one.get_string() == "@open");
  });
}

}  // namespace cay::cli
