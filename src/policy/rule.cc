#include "policy/rule.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace cay::policy {
namespace {

// Bytes of an expression's program, and of its cache while it runs. With more, RE2 builds states
// for a hostile expression that are never used again, which costs several times as much as matching
// without them.
constexpr std::int64_t kRegexMemory = 24 << 10;
constexpr std::size_t kLongestShown = 100;
constexpr std::size_t kLongestLabel = 63;

// Rules come from clients: what is shown of one is a line of plain text.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestShown)) out += c >= ' ' && c < 0x7f ? c : '?';
  return out + (text.size() > kLongestShown ? "…" : "");
}

Error bad(std::string_view text, const std::string& why) {
  return Error{Code::kInvalidArgument, "invalid_policy", "'" + shown(text) + "' is no rule: " + why,
               0};
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || looks_like_an_address(name)) return false;
  while (true) {
    const std::string_view label = name.substr(0, name.find('.'));
    const auto fine = [](char c) { return is_lower(c) || is_digit(c) || c == '-' || c == '_'; };
    if (label.empty() || label.size() > kLongestLabel || !std::ranges::all_of(label, fine))
      return false;
    if (label.size() == name.size()) return true;
    name.remove_prefix(label.size() + 1);
  }
}

std::optional<std::uint16_t> port_of(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0)
    return std::nullopt;
  return port;
}

std::optional<Ports> ports_of(std::string_view text) {
  if (text == "*") return kEveryPort;
  const std::size_t dash = text.find('-');
  const auto first = port_of(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : port_of(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return Ports{*first, *last};
}

// Takes what looks like ports from the end of `rest`. nullopt: none stand there.
std::optional<std::string_view> take_ports(std::string_view& rest) {
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view behind = rest.substr(colon + 1);
  const bool looks = behind == "*" || (!behind.empty() && std::ranges::all_of(behind, [](char c) {
                       return is_digit(c) || c == '-';
                     }));
  if (!looks) return std::nullopt;
  rest = rest.substr(0, colon);
  return behind;
}

Result<std::shared_ptr<const re2::RE2>> compiled(std::string_view whole, std::string_view text) {
  if (text.empty())
    return bad(whole, "write an expression behind the ~, as ~api[0-9]+\\.example\\.com");
  if (text.size() > kLongestRegex) return bad(whole, "an expression has 256 bytes at most");
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; }))
    return bad(whole, "an expression is plain ASCII without blanks");
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  options.set_never_capture(true);
  options.set_case_sensitive(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  auto made = std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (made->error_code() == re2::RE2::ErrorPatternTooLarge)
    return bad(whole, "the expression is too large: " + std::string(kSmaller));
  if (!made->ok()) return bad(whole, "the expression is not taken: " + shown(made->error()));
  if (static_cast<std::size_t>(made->ProgramSize()) > kMostProgram)
    return bad(whole, "the expression is too large: " + std::string(kSmaller));
  return std::shared_ptr<const re2::RE2>(std::move(made));
}

constexpr const char* kNoPath =
    "a rule names a host and ports, no path: write https://example.com or example.com:443; the "
    "paths that a request may have belong into a proxy rule (`paths`, `cay proxy --help`)";
constexpr const char* kPorts = "ports are 1 to 65535: write :443, :8000-8100 or :*";

constexpr const char* kHelp =
    "write example.com, *.example.com, ~regex, 192.0.2.7, 192.0.2.0/24 or @policy, with :443, "
    ":8000-8100 or :* behind it for ports, and ! before it to refuse";

// Why ports_of() does not take them.
std::string words_for_ports(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = port_of(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? std::nullopt : port_of(text.substr(dash + 1));
  if (first && last)
    return "a range of ports begins with the lower one: write :" + std::to_string(*last) + "-" +
           std::to_string(*first);
  return kPorts;
}

bool consists_of(std::string_view text, std::string_view set) {
  return text.find_first_not_of(set) == std::string_view::npos;
}

// Why `host`, in lower case and without the "*." that may have stood before it, is no name; `rest`
// is all that was given.
std::string words_for_host(std::string_view host, std::string_view rest) {
  if (std::ranges::any_of(rest, [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return "names outside ASCII are written in their xn-- form, as xn--bcher-kva.example for "
           "bücher.example";
  }
  if (host.find('@') != std::string_view::npos) return "a rule names no user: write example.com";
  if (rest.find_first_of("/?#") != std::string_view::npos) return kNoPath;
  if (consists_of(rest, "0123456789-")) {
    return "ports stand behind a host, each list of them in a rule of its own: write "
           "example.com:80 and example.com:443, or example.com:8000-8100";
  }
  if (host.find('*') != std::string_view::npos && consists_of(host, "0123456789.*"))
    return "a part of the addresses is written as a network: 192.0.2.0/24";
  if (host.find('*') != std::string_view::npos) {
    return "a * stands for what is below a name, and alone at the front: write *.example.com; for "
           "any other part of a name write an expression, as ~api-[^.]+\\.example\\.com";
  }
  if (host.starts_with('.')) return "for every name below one write *.example.com";
  if (host.find('-') != std::string_view::npos && consists_of(host, "0123456789.-"))
    return "a range of addresses is written as networks: 192.0.2.0/24";
  return kHelp;
}

// `rest` is an address or a network, in brackets or not, with or without ports.
Result<std::optional<Rule>> parse_network(std::string_view whole, std::string_view rest) {
  Rule out;
  out.kind = Rule::Kind::kNetwork;
  std::optional<std::string_view> ports;
  auto network = Network::parse(rest);
  if (!network && rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return bad(whole, "the bracket is not closed");
    network = Network::parse(rest.substr(1, end - 1));
    if (!network) return bad(whole, "no address stands in the brackets");
    rest.remove_prefix(end + 1);
    if (!rest.empty()) {
      ports = take_ports(rest);
      if (!ports || !rest.empty())
        return bad(whole, "behind the bracket stand ports, as [2001:db8::7]:443");
    }
  } else if (!network) {
    std::string_view front = rest;
    ports = take_ports(front);
    network = ports ? Network::parse(front) : std::nullopt;
    if (!network || !network->address.is_v4()) {
      if (rest.find('/') != std::string_view::npos &&
          std::ranges::all_of(rest.substr(0, rest.find('/')),
                              [](char c) { return is_digit(c) || c == '.' || c == ':'; })) {
        return bad(whole,
                   "a network is written as 192.0.2.0/24 or 2001:db8::/32, with no bits behind its "
                   "length");
      }
      return std::optional<Rule>();
    }
  }
  out.network = *network;
  if (ports) {
    out.ports = ports_of(*ports);
    if (!out.ports) return bad(whole, words_for_ports(*ports));
    if (*out.ports == kEveryPort) out.ports.reset();
  }
  return std::optional<Rule>(std::move(out));
}

// Replaces a scheme by its port where it means no more than that: one spelling each.
void settle_scheme(Rule& rule) {
  if (!rule.scheme) return;
  if (!rule.ports) {
    const std::uint16_t port = *rule.scheme == Proof::kTls ? kHttpsPort : kHttpPort;
    rule.ports = Ports{port, port};
  }
  if (rule.ports->first == rule.ports->last && usual_proof(rule.ports->first) == *rule.scheme)
    rule.scheme.reset();
}

}  // namespace

bool looks_like_an_address(std::string_view name) {
  if (name.find(':') != std::string_view::npos) return true;  // of IPv6
  const std::string_view last =
      name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
  return std::ranges::all_of(last, is_digit) || last.starts_with("0x");
}

Proof usual_proof(std::uint16_t port) {
  return port == kHttpsPort ? Proof::kTls : port == kHttpPort ? Proof::kHttp : Proof::kNone;
}

bool is_policy_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPolicyName && is_lower(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

bool Rule::has(std::uint16_t port) const {
  if (ports) return port >= ports->first && port <= ports->last;
  return !names_a_host() || action == Action::kDeny || port == kHttpPort || port == kHttpsPort;
}

std::size_t Rule::program() const {
  return regex ? static_cast<std::size_t>(regex->ProgramSize()) : 0;
}

bool Rule::has_every_port() const {
  return ports ? *ports == kEveryPort : !names_a_host() || action == Action::kDeny;
}

bool Rule::matches_name(std::string_view name) const {
  switch (kind) {
    case Kind::kName: return name == word;
    case Kind::kBelow:
      return name.size() > word.size() + 1 && name.ends_with(word) &&
             name[name.size() - word.size() - 1] == '.';
    case Kind::kRegex:
      return regex && re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *regex);
    case Kind::kNetwork:
    case Kind::kPolicy: return false;
  }
  return false;
}

Proof Rule::proof_at(std::uint16_t port) const {
  if (!names_a_host()) return Proof::kNone;
  return scheme.value_or(usual_proof(port));
}

std::vector<Rule::Segment> Rule::segments() const {
  Ports all = kEveryPort;
  if (ports) {
    all = *ports;
  } else if (!has_every_port()) {
    return {{{kHttpsPort, kHttpsPort}, Proof::kTls}, {{kHttpPort, kHttpPort}, Proof::kHttp}};
  }
  if (scheme || !names_a_host()) return {{all, proof_at(all.first)}};
  std::vector<Segment> out;
  std::uint32_t from = all.first;
  for (const std::uint16_t own : {kHttpPort, kHttpsPort}) {
    if (own < from || own > all.last) continue;
    if (own > from)
      out.push_back(
          {{static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(own - 1)}, Proof::kNone});
    out.push_back({{own, own}, usual_proof(own)});
    from = own + 1U;
  }
  if (from <= all.last) out.push_back({{static_cast<std::uint16_t>(from), all.last}, Proof::kNone});
  return out;
}

std::string Rule::text() const {
  std::string out = action == Action::kDeny ? "!" : "";
  if (scheme) out += *scheme == Proof::kTls ? "https://" : "http://";
  switch (kind) {
    case Kind::kName: out += word; break;
    case Kind::kBelow: out += "*." + word; break;
    case Kind::kRegex: out += "~" + word; break;
    case Kind::kPolicy: out += "@" + word; break;
    case Kind::kNetwork: {
      const std::string own = network.is_one_address() ? network.address.text() : network.text();
      out += ports && !network.address.is_v4() ? "[" + own + "]" : own;
      break;
    }
  }
  if (!ports) return out;
  if (*ports == kEveryPort) return out + ":*";
  out += ":" + std::to_string(ports->first);
  return ports->first == ports->last ? out : out + "-" + std::to_string(ports->last);
}

namespace {

// Returns the end of the class of characters that begins at `at`.
std::size_t end_of_class(std::string_view text, std::size_t at) {
  at += text.substr(at).starts_with("[^") ? 2 : 1;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ']' && i > at) {  // as the first it is one of them
      return i;
    }
  }
  return text.size();
}

}  // namespace

std::size_t expression_end(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (c == '[') {
      i = end_of_class(text, i);
    } else if (c == '(' || c == '{') {
      ++depth;
    } else if (c == ')' || c == '}') {
      depth = std::max(depth - 1, 0);
    } else if (c == ',' && depth == 0) {
      return i;
    }
  }
  return text.size();
}

Result<Rule> parse_rule(std::string_view text, Words words) {
  Rule out;
  std::string_view rest = text;
  if (rest.starts_with('!')) {
    out.action = Action::kDeny;
    rest.remove_prefix(1);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  if (rest.empty()) return bad(text, kHelp);
  if (rest.starts_with('@')) {
    out.kind = Rule::Kind::kPolicy;
    out.word = rest.substr(1);
    if (!is_policy_name(out.word))
      return bad(
          text,
          "behind the @ stands the name of a policy, in lower case and without ports: `cay policy "
          "ls` lists them");
    return out;
  }
  if (const std::size_t end = rest.find("://");
      end != std::string_view::npos && !rest.starts_with('~')) {
    std::string scheme(rest.substr(0, end));
    std::ranges::transform(scheme, scheme.begin(), lower);
    if (scheme == "https") out.scheme = Proof::kTls;
    if (scheme == "http") out.scheme = Proof::kHttp;
    if (!out.scheme)
      return bad(
          text,
          "a rule's scheme is https:// or http://: for anything else write the host and its port, "
          "as example.com:22");
    rest.remove_prefix(end + 3);
    if (const std::size_t path = rest.find_first_of("/?#"); path != std::string_view::npos) {
      if (rest.substr(path) != "/") return bad(text, kNoPath);
      rest = rest.substr(0, path);
    }
  }
  std::optional<std::string_view> ports;
  if (rest.starts_with('~')) {
    if (out.scheme)
      return bad(text, "an expression stands without a scheme: write its ports behind it");
    rest.remove_prefix(1);
    ports = take_ports(rest);
    out.kind = Rule::Kind::kRegex;
    out.word = rest;
    if (expression_end(rest) < rest.size())
      return bad(
          text,
          "no host name has a comma, but for those in {}, [] or () of an expression: write each "
          "rule by itself");
    if (std::string_view again = rest; take_ports(again))
      return bad(text, "no host name has a colon: ports stand once, at the end");
    CAY_TRY(out.regex, compiled(text, rest));
  } else {
    CAY_TRY(auto network, parse_network(text, rest));
    if (network) {
      network->action = out.action;
      if (out.scheme && !network->ports)
        network->ports = Ports{*out.scheme == Proof::kTls ? kHttpsPort : kHttpPort,
                               *out.scheme == Proof::kTls ? kHttpsPort : kHttpPort};
      return *std::move(network);  // nothing stands behind an address but itself: no proof
    }
    const std::size_t colon = rest.find(':');
    std::string host(rest.substr(0, colon));
    if (colon != std::string_view::npos) ports = rest.substr(colon + 1);
    std::ranges::transform(host, host.begin(), lower);
    const bool below = host.starts_with("*.");
    if (below) host.erase(0, 2);
    if (host.size() > 1 && host.ends_with('.')) host.pop_back();  // as DNS writes a whole name
    if (host.empty() || host == "*")
      return bad(
          text,
          "for everything there is the policy `open`; for every name below one, *.example.com");
    if (!is_name(host)) return bad(text, words_for_host(host, rest));
    const bool word = !below && !ports && !out.scheme && host.find('.') == std::string::npos;
    if (word && words == Words::kPolicies) {
      if (!is_policy_name(host)) return bad(text, words_for_host(host, rest));
      out.kind = Rule::Kind::kPolicy;
      out.word = std::move(host);
      return out;
    }
    out.kind = below ? Rule::Kind::kBelow : Rule::Kind::kName;
    out.word = std::move(host);
  }
  if (ports) {
    out.ports = ports_of(*ports);
    if (!out.ports) return bad(text, words_for_ports(*ports));
  }
  settle_scheme(out);
  // A name of one word keeps them: without, it would be a policy's.
  const bool word = out.kind == Rule::Kind::kName && out.word.find('.') == std::string::npos;
  if (out.action == Action::kDeny && !out.scheme && out.ports == kEveryPort && !word)
    out.ports.reset();
  return out;
}

}  // namespace cay::policy
