// Fuzzes the head of a guest's request, as the rules rewrite it. The case of a field's name must
// make no difference. A secret may stand only where a rule puts it, whatever its bytes are. A
// placeholder is replaced in the named headers and in Basic alone. No hop-by-hop field is passed
// on, and nothing passes a fence.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/assert.h"
#include "codec/base64.h"
#include "http/text.h"
#include "model/path_pattern.h"
#include "vault/request_path.h"
#include "vault/rules.h"

namespace {

using namespace cay;
using vault::ClientRequest;
using wire::VaultGrant;
using wire::VaultRule;

constexpr const char* kSecretA = "sk-live-AAAA-0001";
constexpr const char* kSecretB = "another/value+altogether";
constexpr std::string_view kUsual[] = {"authorization", "x-api-key", "api-key", "x-goog-api-key"};

VaultRule rule(const char* name, ProxyWay way, const char* token) {
  VaultRule out;
  out.name = name;
  out.way = static_cast<std::uint8_t>(way);
  out.token = token;
  out.secret = {"t", name, 1, {"api.test", "*.wild.test", "ports.test:8443"}, "sealed"};
  return out;
}

VaultRule fence(std::vector<std::string> methods, std::vector<std::string> paths) {
  VaultRule out;
  out.name = "fence";
  out.way = static_cast<std::uint8_t>(ProxyWay::kHeaders);
  out.hosts = {"api.test"};
  out.methods = std::move(methods);
  out.paths = std::move(paths);
  return out;
}

std::vector<VaultGrant> make_grants() {
  const VaultRule headers = rule("key", ProxyWay::kHeaders, "");
  const VaultRule stand_in = rule("place", ProxyWay::kPlaceholder, "cay-token-PPPP");
  VaultRule named = rule("named", ProxyWay::kPlaceholder, "cay-token-NNNN");
  named.headers = {{"X-Token", "", ""}, {"x_other", "", ""}};
  VaultRule own = rule("own", ProxyWay::kHeaders, "");
  own.headers = {{"X-Api-Key", "key=${SECRET};", ""}, {"Authorization", "", "bot"}};
  VaultRule base = rule("api", ProxyWay::kBaseUrl, "cay-token-BBBB");
  VaultRule fenced_base = base;
  fenced_base.methods = {"GET", "POST"};
  fenced_base.paths = {"/v1/**"};
  VaultRule fenced = stand_in;
  fenced.methods = {"GET", "PUT"};
  fenced.paths = {"/v1/**", "/v2/*"};
  VaultRule gone = headers;
  gone.gone = true;
  VaultRule withdrawn = headers;
  withdrawn.secret.sealed.clear();
  VaultRule unusable = stand_in;
  unusable.secret.name = "unusable";
  VaultRule nowhere = base;
  nowhere.name = "nowhere";
  nowhere.hosts = {"*.wild.test"};
  VaultRule elsewhere = base;
  elsewhere.name = "elsewhere";
  elsewhere.hosts = {"other.test"};
  std::vector<VaultGrant> out;
  for (std::vector<VaultRule> rules :
       std::initializer_list<std::vector<VaultRule>>{{headers},
                                                     {stand_in},
                                                     {own, named},
                                                     {stand_in, headers, named},
                                                     {base, nowhere, elsewhere},
                                                     {fenced_base, headers},
                                                     {fenced},
                                                     {fence({"GET", "POST"}, {"/v1/**"}), fenced},
                                                     {gone, stand_in},
                                                     {withdrawn, stand_in},
                                                     {unusable, headers},
                                                     {fence({"POST"}, {}), headers},
                                                     {fence({}, {"/v1/**"}), named}}) {
    VaultGrant one;
    one.sandbox_id = "s";
    one.rules = std::move(rules);
    out.push_back(std::move(one));
  }
  return out;
}

Result<vault::Rewritten> rewritten(const VaultGrant& grant, const ClientRequest& asked,
                                   const char* secret) {
  return vault::rewrite(grant, asked, [secret](const wire::VaultSecret& of) -> Result<Wiped> {
    if (of.name == "unusable")
      return Error{Code::kUnavailable, "secret_unusable", "it cannot be opened", 0};
    return Wiped(secret);
  });
}

std::string next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return std::string(line);
}

// Its names in other letters where `other` has its bits.
http::Headers headers_of(std::string_view lines, unsigned other) {
  http::Headers out;
  for (std::size_t letters = 0; !lines.empty();) {
    const std::string line = next_line(lines);
    const std::size_t colon = std::min(line.find(':'), line.size());
    std::string name = line.substr(0, colon);
    for (char& c : name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (letter && (other >> letters++ % 8 & 1) != 0) c = static_cast<char>(c ^ 0x20);
    }
    out.add(std::move(name),
            std::string(trimmed(std::string_view(line).substr(std::min(colon + 1, line.size())))));
  }
  return out;
}

template <class Names = std::initializer_list<std::string_view>>
bool is_one_of(std::string_view name, const Names& names) {
  return std::ranges::any_of(names,
                             [&](std::string_view one) { return equals_ignoring_case(one, name); });
}

// '_' is read as '-' by gateways to programs.
bool is_spelled(std::string_view name, std::initializer_list<std::string_view> names) {
  std::string plain(name);
  std::ranges::replace(plain, '_', '-');
  return is_one_of(plain, names);
}

ProxyWay way_of(const VaultRule& rule) { return static_cast<ProxyWay>(rule.way); }

bool is_named(const VaultRule& rule, std::string_view name) {
  if (!rule.headers.empty())
    return std::ranges::any_of(
        rule.headers, [&](const auto& one) { return equals_ignoring_case(one.name, name); });
  if (way_of(rule) != ProxyWay::kPlaceholder) return equals_ignoring_case(name, "Authorization");
  return is_one_of(name, kUsual);
}

std::string with_secret(std::string_view text, std::string_view word, std::string_view secret) {
  std::string out;
  for (std::size_t at; (at = text.find(word)) != std::string_view::npos;
       text.remove_prefix(at + word.size()))
    out.append(text.substr(0, at)).append(secret);
  return out.append(text);
}

// Returns the credentials of a Basic header, or an empty string.
std::string basic(std::string_view value) {
  if (!equals_ignoring_case(value.substr(0, 6), "basic ")) return "";
  return codec::from_base64(value.substr(6)).value_or("");
}

std::string swapped(std::string_view value, const VaultRule& rule, std::string_view secret) {
  const std::string pair = basic(value);
  if (pair.find(rule.token) != std::string::npos)
    return "Basic " + codec::base64(with_secret(pair, rule.token, secret));
  return with_secret(value, rule.token, secret);
}

bool has(const http::Headers& headers, std::string_view name, std::string_view value) {
  return std::ranges::any_of(headers.items(), [&](const auto& one) {
    return equals_ignoring_case(one.first, name) && one.second == value;
  });
}

// Whether a rule of the grant's may have made this value of that header's, by the secret.
bool is_of_a_rule(const VaultGrant& grant, const ClientRequest& asked, std::string_view name,
                  std::string_view value, std::string_view secret) {
  std::vector<std::string> could;
  for (const auto& [key, said] : asked.headers.items()) {
    if (equals_ignoring_case(key, name)) could.push_back(said);
  }
  for (const VaultRule& rule : grant.rules) {
    if (vault::is_fence(rule) || !is_named(rule, name)) continue;
    if (way_of(rule) == ProxyWay::kPlaceholder) {
      for (std::string& one : could) one = swapped(one, rule, secret);
    } else if (rule.headers.empty()) {
      could.push_back("Bearer " + std::string(secret));
    } else {
      for (const auto& one : rule.headers) {
        could.push_back(one.basic_user.empty()
                            ? with_secret(one.value, "${SECRET}", secret)
                            : "Basic " + codec::base64(one.basic_user + ":" + std::string(secret)));
      }
    }
  }
  return std::ranges::find(could, value) != could.end();
}

// Returns true if the rule is for this request.
bool is_for(const VaultRule& rule, const ClientRequest& asked) {
  const bool base_url = way_of(rule) == ProxyWay::kBaseUrl;
  if (base_url || asked.host.empty())
    return base_url && asked.host.empty() &&
           asked.target.substr(1, asked.target.find_first_of("/?", 1) - 1) == rule.name;
  return std::ranges::any_of(
      rule.hosts.empty() ? rule.secret.hosts : rule.hosts,
      [&](const auto& one) { return parse_proxy_host(one)->matches(asked.host, asked.port); });
}

// Checks a header that is passed on as the guest wrote it. It holds no placeholder that counts
// there, and is no key of the guest's beside the rule's.
void expect_no_key(const VaultGrant& grant, const VaultRule& rule, std::string_view name,
                   std::string_view value) {
  const auto holds = [value](const VaultRule& one) {
    return value.find(one.token) != std::string_view::npos ||
           basic(value).find(one.token) != std::string::npos;
  };
  if (way_of(rule) == ProxyWay::kPlaceholder) {
    CAY_ASSERT(!is_named(rule, name) || !holds(rule));
    return;
  }
  std::string plain(name);
  std::ranges::replace(plain, '_', '-');
  CAY_ASSERT(!is_named(rule, plain));
  const bool another = std::ranges::any_of(grant.rules, [&](const VaultRule& one) {
    return way_of(one) == ProxyWay::kPlaceholder && holds(one);
  });
  CAY_ASSERT(another || !is_one_of(plain, kUsual));  // each rule of these grants sets one of them
}

void expect_headers(const VaultGrant& grant, const ClientRequest& asked,
                    const vault::Rewritten& by_a, const vault::Rewritten& by_b) {
  const auto& items = by_a.headers.items();
  const auto& others = by_b.headers.items();
  CAY_ASSERT(by_a.to == by_b.to && by_a.target == by_b.target && items.size() == others.size());
  std::vector<std::string> of_connection;
  for (const auto& [name, value] : asked.headers.items()) {
    if (!equals_ignoring_case(name, "connection")) continue;
    for (const std::string_view one : http::split_list(value)) of_connection.emplace_back(one);
  }
  const bool fenced = std::ranges::any_of(
      grant.rules, [](const VaultRule& one) { return !one.methods.empty() || !one.paths.empty(); });
  std::size_t hosts = 0, encodings = 0;
  bool used = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& [name, value] = items[i];
    CAY_ASSERT(name == others[i].first);
    CAY_ASSERT(!is_spelled(
        name, {"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te",
               "trailer", "transfer-encoding", "upgrade", "content-length", "expect", "range",
               "if-range", "request-range", "sec-websocket-extensions"}));
    if (equals_ignoring_case(name, "host")) {
      CAY_ASSERT(value == by_a.to.text() && others[i].second == value);
      ++hosts;
    } else if (equals_ignoring_case(name, "accept-encoding")) {
      CAY_ASSERT(value == "identity" && others[i].second == value);
      ++encodings;
    } else if (value != others[i].second) {  // the secret is in it
      CAY_ASSERT(is_of_a_rule(grant, asked, name, value, kSecretA) &&
                 is_of_a_rule(grant, asked, name, others[i].second, kSecretB));
      used = true;
    } else {
      CAY_ASSERT(has(asked.headers, name, value));
      CAY_ASSERT(std::ranges::none_of(
          of_connection, [&](const std::string& one) { return equals_ignoring_case(one, name); }));
      for (const VaultRule& rule : grant.rules) {
        if (!fenced && is_for(rule, asked)) expect_no_key(grant, rule, name, value);
      }
    }
  }
  CAY_ASSERT(hosts == 1 && encodings == 1);
  if (!used) return;
  // The scanner looks for the secrets that the server may know.
  const auto known =
      vault::secrets_of_host(grant, by_a.to.host, [](const wire::VaultSecret& of) -> Result<Wiped> {
        if (of.name == "unusable")
          return Error{Code::kUnavailable, "secret_unusable", "it cannot be opened", 0};
        return Wiped(kSecretA);
      });
  CAY_ASSERT(known && !known->empty() && known->front().view() == kSecretA);
}

bool lets_through(const VaultRule& rule, const ClientRequest& asked, std::string_view target) {
  const bool method =
      rule.methods.empty() || std::ranges::any_of(rule.methods, [&](const auto& one) {
        return one == asked.method || (one == "GET" && asked.method == "HEAD");
      });
  if (rule.paths.empty() || !method) return method;
  const auto path = vault::read_path(target.substr(0, target.find('?')));
  return path && std::ranges::any_of(
                     rule.paths, [&](const auto& one) { return path_matches(one, path->read); });
}

bool has_spelled(const ClientRequest& asked, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(asked.headers.items(),
                             [&](const auto& one) { return is_spelled(one.first, names); });
}

// Whether a field of the query is one of those by which frameworks take a request for one of
// another method.
bool query_overrides(std::string_view query) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find_first_of("&;"));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::string_view name = pair.substr(0, pair.find('='));
    std::string read;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool escape = name[i] == '%' && i + 2 < name.size() && hex_digit(name[i + 1]) >= 0 &&
                          hex_digit(name[i + 2]) >= 0;
      const char c = escape
                         ? static_cast<char>(hex_digit(name[i + 1]) * 16 + hex_digit(name[i + 2]))
                         : name[i];
      if (c == '\0' || c == '[') break;
      read += !escape && c == '+' ? ' ' : c == '.' ? '_' : c;
      if (escape) i += 2;
    }
    if (equals_ignoring_case(trimmed(std::string_view(read)), "_method")) return true;
  }
  return false;
}

void expect_fence(const VaultGrant& grant, const ClientRequest& asked,
                  const vault::Rewritten& out) {
  bool of_methods = false, of_paths = false, through = false;
  for (const VaultRule& rule : grant.rules) {
    if (!is_for(rule, asked)) continue;
    of_methods = of_methods || !rule.methods.empty();
    of_paths = of_paths || !rule.paths.empty();
    through = through || lets_through(rule, asked, out.target);
  }
  CAY_ASSERT(through);
  if (of_methods) {
    CAY_ASSERT(
        !has_spelled(asked, {"x-http-method-override", "x-method-override", "x-http-method"}));
    CAY_ASSERT(out.target.find('?') == std::string::npos ||
               !query_overrides(out.target.substr(out.target.find('?') + 1)));
  }
  if (of_paths) CAY_ASSERT(!has_spelled(asked, {"x-original-url", "x-rewrite-url"}));
}

}  // namespace

// The first byte chooses the sandbox's rules, the second the host, the third the case of names.
// Then come "METHOD TARGET", and lines "Name: value".
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kChoices = 3;
  if (size < kChoices) return 0;
  static const std::vector<VaultGrant> kGrants = make_grants();
  const VaultGrant& grant = kGrants[data[0] % kGrants.size()];
  static const ProxyHost kAsked[] = {{"api.test", 443},
                                     {"", 443},
                                     {"a.wild.test", 443},
                                     {"ports.test", 8443},
                                     {"other.test", 443}};
  const ProxyHost& host = kAsked[data[1] % std::size(kAsked)];
  std::string_view text(reinterpret_cast<const char*>(data) + kChoices, size - kChoices);
  ClientRequest asked;
  asked.host = host.host;
  asked.port = host.port;
  const std::string first = next_line(text);
  asked.method = first.substr(0, first.find(' '));
  asked.target = first.substr(std::min(asked.method.size() + 1, first.size()));
  asked.headers = headers_of(text, 0);
  const auto by_a = rewritten(grant, asked, kSecretA), by_b = rewritten(grant, asked, kSecretB);
  ClientRequest other = asked;
  other.headers = headers_of(text, data[2]);
  const auto again = rewritten(grant, other, kSecretA);
  CAY_ASSERT(by_a.has_value() == by_b.has_value() && by_a.has_value() == again.has_value());
  if (!by_a) {
    CAY_ASSERT(by_a.error().reason == by_b.error().reason &&
               by_a.error().message == by_b.error().message &&
               by_a.error().message == again.error().message);
    return 0;
  }
  CAY_ASSERT(by_a->target == again->target && by_a->to == again->to &&
             by_a->headers.items().size() == again->headers.items().size());
  for (std::size_t i = 0; i < by_a->headers.items().size(); ++i) {
    const auto &one = by_a->headers.items()[i], &same = again->headers.items()[i];
    CAY_ASSERT(equals_ignoring_case(one.first, same.first) && one.second == same.second);
  }
  expect_headers(grant, asked, *by_a, *by_b);
  expect_fence(grant, asked, *by_a);
  // The gate passes on what the broker accepts, and nothing else is requested.
  CAY_ASSERT(by_a->target.starts_with('/'));
  const auto routes = vault::routes_of(grant);
  if (asked.host.empty()) {
    CAY_ASSERT(routes.base_url);
    return 0;
  }
  CAY_ASSERT(vault::intercepts(grant, asked.host, asked.port) && by_a->to == host);
  CAY_ASSERT(!routes.hosts.empty() || !routes.fences.empty());
  return 0;
}
