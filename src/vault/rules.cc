#include "vault/rules.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/field_names.h"
#include "codec/base64.h"
#include "vault/request_filter.h"

namespace cay::vault {
namespace {

constexpr std::string_view kBasic = "Basic ";
// The headers in which clients send a key. The way `placeholder` uses them if a rule names none.
constexpr const char* kUsualHeaders[] = {"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"};

Error denied(const char* reason, const std::string& message) {
  return {Code::kPermissionDenied, reason, message, 0};
}
Error bad(const std::string& message) {
  return {Code::kInvalidArgument, "bad_request", message, 0};
}

ProxyWay way_of(const wire::VaultRule& rule) { return static_cast<ProxyWay>(rule.way); }

Error secret_gone(const wire::VaultRule& rule) {
  return denied(
      "secret_gone",
      "the secret of proxy rule '" + rule.name +
          "' was removed, so nothing is sent by it: set the secret again, or take the rule away");
}

const std::vector<std::string>& hosts_of(const wire::VaultRule& rule) {
  return rule.hosts.empty() ? rule.secret.hosts : rule.hosts;
}

bool any_matches(const std::vector<std::string>& hosts, std::string_view host, std::uint16_t port) {
  return std::ranges::any_of(hosts, [&](const std::string& text) {
    const auto pattern = parse_proxy_host(text);
    return pattern && pattern->matches(host, port);
  });
}

// The secret's own hosts were sealed with it. They limit every rule.
bool reaches(const wire::VaultRule& rule, std::string_view host, std::uint16_t port) {
  return any_matches(hosts_of(rule), host, port) &&
         (is_fence(rule) || rule.gone || any_matches(rule.secret.hosts, host, port));
}

Result<Wiped> opened(const wire::VaultRule& rule, const Unseal& unseal) {
  if (!is_withdrawn(rule.secret)) return unseal(rule.secret);
  return denied("secret_withdrawn",
                "the secret of rule '" + rule.name + "' was removed, or is being changed");
}

bool same(std::string_view one, std::string_view other) {
  return one.size() == other.size() && ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::optional<std::string> basic_of(std::string_view value) {
  if (value.size() < kBasic.size() || !equals_ignoring_case(value.substr(0, kBasic.size()), kBasic))
    return std::nullopt;
  return codec::from_base64(value.substr(kBasic.size()));
}

// Whether a client writes the token there: alone, behind a scheme, or as Basic's user or password.
bool carries(std::string_view value, std::string_view token) {
  if (same(value, token)) return true;
  const std::size_t blank = value.rfind(' ');
  if (blank != std::string_view::npos && same(value.substr(blank + 1), token)) return true;
  const auto basic = basic_of(value);
  if (!basic) return false;
  const std::size_t colon = std::min(basic->find(':'), basic->size());
  return same(std::string_view(*basic).substr(0, colon), token) ||
         (colon < basic->size() && same(std::string_view(*basic).substr(colon + 1), token));
}

// Returns the length that replaced() would have. Callers check it first, because a guest may repeat
// its placeholder as often as a message has room for.
std::size_t size_replaced(std::string_view text, std::string_view word, std::string_view by) {
  std::size_t out = text.size();
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + word.size()))
    out += by.size() - word.size();
  return out;
}

std::string replaced(std::string_view text, std::string_view word, std::string_view by) {
  std::string out;
  out.reserve(size_replaced(text, word, by));
  std::size_t begin = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, begin)) {
    out.append(text, begin, at - begin).append(by);
    begin = at + word.size();
  }
  return out.append(text, begin);
}

constexpr std::size_t kAroundHeader = 4;  // ": ", and the line's end

Error too_long() {
  return bad("with its secrets the request's head is longer than 64 KiB: write the stand-in once");
}

std::size_t size_of(const http::Headers& headers) {
  std::size_t out = 0;
  for (const auto& [name, value] : headers.items())
    out += name.size() + value.size() + kAroundHeader;
  return out;
}

http::Headers passed_on(const ClientRequest& asked, const ProxyHost& to) {
  http::Headers out;
  out.add("Host", to.text());
  const auto of_connection = http::connection_options(asked.headers);
  for (const auto& [name, value] : asked.headers.items()) {
    if (!is_brokers_header(name) && !of_connection.contains(lowered(name))) out.add(name, value);
  }
  out.add("Accept-Encoding", "identity");
  return out;
}

http::Headers without(
    const http::Headers& from,
    const std::function<bool(std::string_view name, std::string_view value)>& goes) {
  http::Headers out;
  for (const auto& [name, value] : from.items()) {
    if (!goes(name, value)) out.add(name, value);
  }
  return out;
}

bool is_usual(std::string_view name) {
  return std::ranges::any_of(kUsualHeaders,
                             [&](const char* one) { return equals_ignoring_case(name, one); });
}

std::vector<wire::VaultHeader> headers_of(const wire::VaultRule& rule) {
  if (!rule.headers.empty()) return rule.headers;
  return {{"Authorization", std::string("Bearer ") + kSecretWord, ""}};
}

Result<void> set_headers(const wire::VaultRule& rule, std::string_view secret,
                         http::Headers& headers) {
  for (const wire::VaultHeader& one : headers_of(rule)) {
    headers = without(
        headers, [&](std::string_view name, std::string_view) { return reads_as(name, one.name); });
    if (one.basic_user.empty()) {
      if (size_replaced(one.value, kSecretWord, secret) > kMostRewritten) return too_long();
      headers.add(one.name, replaced(one.value, kSecretWord, secret));
    } else {
      Wiped pair(one.basic_user + ":");
      pair.bytes() += secret;
      headers.add(one.name, std::string(kBasic) + codec::base64(pair.view()));
    }
  }
  return {};
}

// In the named headers, and inside Basic; elsewhere the stand-in stays what it is. Whether it stood
// anywhere.
Result<bool> swap_placeholder(const wire::VaultRule& rule, std::string_view secret,
                              http::Headers& headers) {
  bool swapped = false;
  http::Headers out;
  std::size_t left =
      kMostRewritten;  // for all of them: nothing is written that there is no room for
  for (const auto& [name, value] : headers.items()) {
    const bool named = rule.headers.empty()
                           ? is_usual(name)
                           : std::ranges::any_of(rule.headers, [&](const auto& one) {
                               return equals_ignoring_case(name, one.name);
                             });
    const auto basic = named ? basic_of(value) : std::nullopt;
    const bool in_basic = basic && basic->find(rule.token) != std::string::npos;
    const std::size_t size = in_basic ? size_replaced(*basic, rule.token, secret) / 3 * 4
                             : named  ? size_replaced(value, rule.token, secret)
                                      : value.size();
    if (size > left) return too_long();
    left -= size;
    if (in_basic) {
      const Wiped pair(replaced(*basic, rule.token, secret));
      out.add(name, std::string(kBasic) + codec::base64(pair.view()));
    } else {
      out.add(name, named ? replaced(value, rule.token, secret) : value);
    }
    swapped = swapped || out.items().back().second != value;
  }
  headers = std::move(out);
  return swapped;
}

bool reads_as_usual(std::string_view name) {
  return std::ranges::any_of(kUsualHeaders, [&](const char* one) { return reads_as(name, one); });
}

bool sets_usual(const wire::VaultRule& rule) {
  return std::ranges::any_of(headers_of(rule),
                             [](const wire::VaultHeader& one) { return is_usual(one.name); });
}

// As it goes out; what frames it comes besides.
Result<void> check_size(const ClientRequest& asked, const Rewritten& out) {
  if (asked.method.size() + out.target.size() + size_of(out.headers) > kMostRewritten)
    return too_long();
  return {};
}

// If a rule adds a key for a host, the client's own key in another usual header is removed.
// Otherwise the server would choose which key counts. The placeholder of another rule stays, since
// its key is allowed.
http::Headers without_other_keys(const http::Headers& from, const HostRules& rules,
                                 const RequestFilter& filter) {
  const auto sets = std::ranges::find_if(rules, [&](const wire::VaultRule* rule) {
    return way_of(*rule) == ProxyWay::kHeaders && !is_fence(*rule) && filter.allows(*rule);
  });
  if (sets == rules.end()) return from;
  if (!sets_usual(**sets)) return from;
  return without(from, [&](std::string_view name, std::string_view value) {
    return reads_as_usual(name) && std::ranges::none_of(rules, [&](const wire::VaultRule* rule) {
             return way_of(*rule) == ProxyWay::kPlaceholder && carries(value, rule->token);
           });
  });
}

// Returns the position where the rule's name ends in a target: "/NAME/v1/models".
std::size_t end_of_name(std::string_view target) {
  return std::min(target.find_first_of("/?", 1), target.size());
}

auto rule_named(const wire::VaultGrant& grant, std::string_view name) {
  return std::ranges::find_if(grant.rules, [&](const wire::VaultRule& one) {
    return way_of(one) == ProxyWay::kBaseUrl && one.name == name;
  });
}

// nullopt: it has no exact one.
std::optional<ProxyHost> base_of(const wire::VaultRule& rule) {
  auto to = parse_proxy_host(hosts_of(rule).empty() ? "" : hosts_of(rule).front());
  return to && !to->wildcard() ? to : std::nullopt;
}

Result<Rewritten> rewrite_base_url(const wire::VaultGrant& grant, const ClientRequest& asked,
                                   const Unseal& unseal) {
  const std::size_t end = end_of_name(asked.target);
  const std::string name = asked.target.substr(1, end - 1);
  const auto rule = rule_named(grant, name);
  if (rule == grant.rules.end())
    return denied("no_such_rule",
                  "this sandbox has no rule '" + name.substr(0, 63) + "' of way base_url");
  const auto& items = asked.headers.items();
  const bool known =
      std::ranges::any_of(items, [&](const auto& one) { return carries(one.second, rule->token); });
  if (!known)
    return denied(
        "token_unknown",
        "rule '" + name + "' wants the token that this sandbox was given for it, as key or Bearer");
  if (rule->gone) return secret_gone(*rule);
  const auto to = base_of(*rule);
  if (!to)
    return denied(
        "no_such_rule",
        "rule '" + name + "' has no host to send to: its first host must be an exact one");
  if (!reaches(*rule, to->host, to->port))
    return denied("host_not_allowed",
                  "the secret of rule '" + name + "' may not be sent to " + to->text());
  Rewritten out;
  out.to = *to;
  out.target = asked.target.substr(end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  CAY_TRY(const RequestFilter filter,
          RequestFilter::create({&*rule}, asked.method, out.target, asked.headers));
  if (!filter.allows(*rule)) return filter.refusal("rule '" + name + "'");
  out.target = filter.target();
  const bool own_key = sets_usual(*rule);  // then no other of the client's: as without_other_keys
  out.headers = without(passed_on(asked, *to), [&](std::string_view name, std::string_view value) {
    return carries(value, rule->token) || (own_key && reads_as_usual(name));
  });
  CAY_TRY(const Wiped secret, opened(*rule, unseal));
  CAY_CHECK(set_headers(*rule, secret.view(), out.headers));
  CAY_CHECK(check_size(asked, out));
  return out;
}

}  // namespace

ResolvedRule resolve_rule(const wire::VaultGrant& grant, std::string_view target) {
  if (!target.starts_with('/')) return {};
  constexpr std::size_t kMostName = 63;
  const std::string_view name = target.substr(1, end_of_name(target) - 1);
  if (const auto rule = rule_named(grant, name); rule != grant.rules.end())
    return {rule->name, base_of(*rule)};
  std::string shown(
      name.substr(0, kMostName));  // of the guest's own bytes, which are read by people
  for (char& c : shown) {
    if (!is_secret_name(std::string("a") + c)) c = '?';
  }
  return {std::move(shown), std::nullopt};
}

bool is_withdrawn(const wire::VaultSecret& secret) { return secret.sealed.empty(); }

std::string about_secret(const wire::VaultSecret& secret) {
  wire::VaultSecret about = secret;
  about.sealed.clear();
  return "cay secret 1\n" + wire::encode(about);
}

bool is_fence(const wire::VaultRule& rule) { return rule.secret.name.empty(); }

bool intercepts(const wire::VaultGrant& grant, std::string_view host, std::uint16_t port) {
  return std::ranges::any_of(grant.rules, [&](const wire::VaultRule& rule) {
    return way_of(rule) != ProxyWay::kBaseUrl && reaches(rule, host, port);
  });
}

wire::BrokerRoutes routes_of(const wire::VaultGrant& grant) {
  wire::BrokerRoutes out;
  out.sandbox_id = grant.sandbox_id;
  for (const wire::VaultRule& rule : grant.rules) {
    if (way_of(rule) == ProxyWay::kBaseUrl) {
      out.base_url = true;
    } else {
      auto& hosts = is_fence(rule) ? out.fences : out.hosts;
      hosts.insert(hosts.end(), hosts_of(rule).begin(), hosts_of(rule).end());
    }
  }
  return out;
}

Result<Rewritten> rewrite(const wire::VaultGrant& grant, const ClientRequest& asked,
                          const Unseal& unseal) {
  if (!asked.target.starts_with('/')) return bad("a request's target begins with '/'");
  if (asked.host.empty()) return rewrite_base_url(grant, asked, unseal);
  // The request must name the host that the connection was allowed for, exactly once.
  std::size_t hosts = 0;
  for (const auto& [name, value] : asked.headers.items()) {
    if (!equals_ignoring_case(name, "Host")) continue;
    ++hosts;
    const auto named = parse_proxy_host(value);
    if (!named || named->host != asked.host ||
        (value.find(':') != std::string::npos && named->port != asked.port)) {
      return denied("host_mismatch",
                    "the connection is for " + asked.host + ", and its request names another host");
    }
  }
  if (hosts != 1) return bad("a request names its host once");
  Rewritten out;
  out.to = {asked.host, asked.port};
  out.headers = passed_on(asked, out.to);
  HostRules rules;
  for (const wire::VaultRule& rule : grant.rules) {
    if (way_of(rule) != ProxyWay::kBaseUrl && reaches(rule, asked.host, asked.port))
      rules.push_back(&rule);
  }
  if (rules.empty()) return denied("no_such_rule", "no rule of this sandbox is for " + asked.host);
  CAY_TRY(const RequestFilter filter,
          RequestFilter::create(rules, asked.method, asked.target, asked.headers));
  out.target = filter.target();
  out.headers = without_other_keys(out.headers, rules, filter);
  bool any = false, headers_set = false;
  for (const wire::VaultRule* const one : rules) {
    const wire::VaultRule& rule = *one;
    if (!filter.allows(rule)) continue;
    if (rule.gone) return secret_gone(rule);
    any = true;
    const bool sets = way_of(rule) == ProxyWay::kHeaders;
    if (is_fence(rule) || (sets && headers_set)) continue;
    auto secret = opened(rule, unseal);
    if (!secret) {
      // One that cannot be opened ends what needs it, and nothing else.
      http::Headers tried = out.headers;
      if (!sets && !swap_placeholder(rule, "", tried).value_or(true)) continue;
      return std::move(secret).error();
    }
    if (sets) {
      CAY_CHECK(set_headers(rule, secret->view(), out.headers));
      headers_set = true;
    } else {
      CAY_CHECK(swap_placeholder(rule, secret->view(), out.headers));
    }
  }
  if (!any) return filter.refusal(asked.host);
  CAY_CHECK(check_size(asked, out));
  return out;
}

Result<std::vector<Wiped>> secrets_of_host(const wire::VaultGrant& grant, std::string_view host,
                                           const Unseal& unseal) {
  std::vector<Wiped> out;
  for (const wire::VaultRule& rule : grant.rules) {
    const bool known = std::ranges::any_of(rule.secret.hosts, [&](const std::string& text) {
      const auto pattern = parse_proxy_host(text);
      return pattern && pattern->matches(host, pattern->port);
    });
    if (!known || is_withdrawn(rule.secret)) continue;
    auto secret = unseal(rule.secret);
    // A secret that cannot be opened was never sent by this broker, so it is no reason to end.
    if (!secret && secret.error().reason == "secret_unusable") continue;
    if (!secret) return std::move(secret).error();
    out.push_back(*std::move(secret));
  }
  return out;
}

}  // namespace cay::vault
