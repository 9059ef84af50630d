#include "model/proxy.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/ascii.h"
#include "base/field_names.h"
#include "model/path_pattern.h"

namespace cay {
namespace {

constexpr std::size_t kMostName = 63;
constexpr std::size_t kMostHost = 253;
constexpr std::size_t kMostTemplate = 4096;
constexpr std::size_t kMostPaths = 64;
constexpr std::size_t kMostMethods = 16;
constexpr std::size_t kMostMethod = 20;
constexpr std::size_t kMostHeaders = 8;
constexpr std::size_t kMostEnv = 32;
constexpr std::string_view kWebSocket = "Sec-WebSocket-";

// The variables by which clients find certificates to trust beside the system's store.
constexpr const char* kBundleVariables[] = {
    "SSL_CERT_FILE",  "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",   "PIP_CERT",
    "GIT_SSL_CAINFO", "AWS_CA_BUNDLE",      "CARGO_HTTP_CAINFO"};

Error bad_rule(const ProxyRule& rule, const std::string& why) {
  return {Code::kInvalidArgument, "invalid_proxy_rule",
          "proxy rule '" + rule.name.substr(0, kMostName) + "': " + why, 0};
}

bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= kMostName && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// As servers read it: they take "Content_Length" for the length, too.
bool is_reserved_header(std::string_view name) {
  return is_brokers_header(name) || reads_as(name.substr(0, kWebSocket.size()), kWebSocket);
}

bool is_header_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

Result<void> check_header(const ProxyRule& rule, const ProxyHeader& header) {
  if (!is_token(header.name))
    return bad_rule(rule, "a header's name has 1 to 63 letters, digits or '-'");
  if (is_reserved_header(header.name))
    return bad_rule(rule, "the header " + header.name + " is Cay's own to set");
  if (header.value.size() > kMostTemplate || !is_header_text(header.value))
    return bad_rule(rule, "a header's value is at most 4096 visible characters");
  if (header.basic_user.size() > kMostName || !is_header_text(header.basic_user) ||
      header.basic_user.find(':') != std::string::npos) {
    return bad_rule(rule, "basic_user is at most 63 visible characters without ':'");
  }
  if (!header.basic_user.empty() && !header.value.empty())
    return bad_rule(rule, "a header has either value or basic_user");
  if (rule.way == ProxyWay::kPlaceholder && !(header.value.empty() && header.basic_user.empty())) {
    return bad_rule(rule,
                    "of way placeholder a header has its name alone: the client writes the value");
  }
  if (rule.way != ProxyWay::kPlaceholder && header.basic_user.empty() &&
      header.value.find(kSecretWord) == std::string::npos) {
    return bad_rule(rule, "the value of header " + header.name + " has no ${SECRET} in it");
  }
  return {};
}

Result<void> check_fence(const ProxyRule& rule) {
  if (rule.way != ProxyWay::kHeaders || !rule.headers.empty())
    return bad_rule(rule, "without a secret it has hosts, methods and paths alone");
  if (rule.hosts.empty()) return bad_rule(rule, "without a secret it needs a list of hosts");
  if (rule.methods.empty() && rule.paths.empty())
    return bad_rule(rule, "without a secret it needs the methods or paths that it allows");
  return {};
}

Result<void> check_rule(const ProxyRule& rule) {
  if (!is_secret_name(rule.name))
    return bad_rule(rule, "a rule's name has 1 to 63 letters, digits, '.', '_' or '-'");
  if (rule.is_fence()) {
    CAY_CHECK(check_fence(rule));
  }
  if (!rule.is_fence() && !is_secret_name(rule.secret))
    return bad_rule(rule, "no secret has such a name");
  if (rule.hosts.size() > kMostSecretHosts) return bad_rule(rule, "at most 64 hosts");
  for (const std::string& text : rule.hosts) {
    if (!parse_proxy_host(text))
      return bad_rule(rule, "'" + text.substr(0, kMostHost) +
                                "' is no host such as api.example.com, *.example.com or host:8443");
  }
  if (rule.methods.size() > kMostMethods || !std::ranges::all_of(rule.methods, is_proxy_method))
    return bad_rule(rule, "methods are at most 16, in capital letters, as GET and POST");
  if (rule.paths.size() > kMostPaths) return bad_rule(rule, "at most 64 paths");
  if (!std::ranges::all_of(rule.paths, is_path_pattern)) {
    return bad_rule(
        rule,
        "a path begins with '/' and is written as it is read, without % and '..': * is anything "
        "within a segment and ** anything, as /v1/**; at most 256 characters");
  }
  if (rule.headers.size() > kMostHeaders) return bad_rule(rule, "at most 8 headers");
  for (const ProxyHeader& header : rule.headers) {
    CAY_CHECK(check_header(rule, header));
  }
  if (rule.env.size() > kMostEnv) return bad_rule(rule, "at most 32 variables");
  for (const auto& [name, value] : rule.env) {
    const bool plain = !name.empty() && name.size() <= kMostTemplate &&
                       name.find_first_of(std::string_view("=\0", 2)) == std::string::npos &&
                       value.size() <= kMostTemplate && value.find('\0') == std::string::npos;
    if (!plain)
      return bad_rule(rule,
                      "a variable's name is not empty and has no '=' or NUL, its value no NUL");
  }
  return {};
}

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

std::string variable_of(const std::string& name) {
  std::string out = name;
  for (char& c : out) c = is_letter(c) ? static_cast<char>(c & ~0x20) : is_digit(c) ? c : '_';
  return is_digit(out.front()) ? "_" + out : out;
}

}  // namespace

bool ProxyHost::matches(std::string_view name, std::uint16_t at) const {
  if (at != port) return false;
  if (!wildcard()) return name == host;
  return name.size() > host.size() - 1 && name.ends_with(std::string_view(host).substr(1));
}

bool ProxyHost::covers(const ProxyHost& other) const {
  if (*this == other) return true;
  return matches(
      other.wildcard() ? std::string_view(other.host).substr(1) : std::string_view(other.host),
      other.port);
}

std::string ProxyHost::text() const {
  return port == 443 ? host : host + ":" + std::to_string(port);
}

std::optional<ProxyHost> parse_proxy_host(std::string_view text) {
  ProxyHost out;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
    if (error != std::errc() || end != digits.data() + digits.size() || out.port == 0)
      return std::nullopt;
    text = text.substr(0, colon);
  }
  out.host = lowered(text);
  std::string_view name = out.host;
  if (name.starts_with("*.")) name.remove_prefix(2);
  const bool fine =
      !name.empty() && name.size() <= kMostHost && name.front() != '.' && name.back() != '.' &&
      name.find("..") == std::string_view::npos &&
      std::ranges::all_of(
          name,
          [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.'; }) &&
      std::ranges::any_of(name, is_letter);  // an address has no certificate's name to check
  if (!fine || (out.wildcard() && name.find('.') == std::string_view::npos)) return std::nullopt;
  return out;
}

std::string_view to_string(ProxyWay way) {
  switch (way) {
    case ProxyWay::kBaseUrl: return "base_url";
    case ProxyWay::kHeaders: return "headers";
    case ProxyWay::kPlaceholder: return "placeholder";
  }
  return "";
}

std::optional<ProxyWay> proxy_way_from(std::string_view text) {
  for (const ProxyWay way : {ProxyWay::kBaseUrl, ProxyWay::kHeaders, ProxyWay::kPlaceholder}) {
    if (to_string(way) == text) return way;
  }
  return std::nullopt;
}

std::vector<std::string> each_once(std::vector<std::string> list) {
  std::set<std::string> seen;
  std::erase_if(list, [&](const std::string& one) { return !seen.insert(one).second; });
  return list;
}

bool is_secret_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

bool is_brokers_header(std::string_view name) {
  for (const char* own :
       {"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "TE", "Trailer",
        "Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "Host", "Accept-Encoding",
        "Range", "If-Range", "Request-Range", "Sec-WebSocket-Extensions"}) {
    if (reads_as(name, own)) return true;
  }
  return false;
}

bool is_proxy_method(std::string_view text) {
  return !text.empty() && text.size() <= kMostMethod &&
         std::ranges::all_of(text, [](char c) { return is_upper(c) || c == '-' || c == '_'; });
}

Result<void> check_secret_value(std::string_view value) {
  const bool sized = value.size() >= kLeastSecretBytes && value.size() <= kMostSecretBytes;
  const bool plain =
      is_header_text(value) && !value.empty() && value.front() != ' ' && value.back() != ' ';
  if (sized && plain) return {};
  return Error{Code::kInvalidArgument, "invalid_secret",
               "a secret's value is 8 to 16384 visible ASCII characters, with blanks only within",
               0};
}

Result<void> check_proxy_rules(const std::vector<ProxyRule>& rules) {
  if (rules.size() > kMostProxyRules)
    return Error{Code::kInvalidArgument, "invalid_proxy_rule", "at most 32 proxy rules", 0};
  std::set<std::string> names;
  for (const ProxyRule& rule : rules) {
    CAY_CHECK(check_rule(rule));
    if (!names.insert(rule.name).second) return bad_rule(rule, "another rule has this name");
  }
  return {};
}

std::map<std::string, std::string> proxy_env(const std::vector<ProxyRule>& rules) {
  std::map<std::string, std::string> out;
  if (ends_tls(rules)) {
    for (const char* name : kBundleVariables) out[name] = "/etc/ssl/certs/ca-certificates.crt";
    for (const char* name : {"NODE_EXTRA_CA_CERTS", "DENO_CERT"})
      out[name] = "/etc/ssl/certs/cay-sandbox.pem";
  }
  for (const ProxyRule& rule : rules) {
    std::map<std::string, std::string> env = rule.env;
    const std::string name = variable_of(rule.name);
    if (env.empty() && rule.way != ProxyWay::kHeaders) env[name + "_API_KEY"] = "${TOKEN}";
    if (rule.env.empty() && rule.way == ProxyWay::kBaseUrl) env[name + "_BASE_URL"] = "${BASE_URL}";
    const std::string base = std::string("http://") + kBrokerV4 + "/" + rule.name;
    for (const auto& [key, value] : env)
      out[key] = replaced(replaced(value, "${BASE_URL}", base), "${TOKEN}", rule.token);
  }
  return out;
}

bool ends_tls(const std::vector<ProxyRule>& rules) {
  return std::ranges::any_of(rules,
                             [](const ProxyRule& rule) { return rule.way != ProxyWay::kBaseUrl; });
}

}  // namespace cay
