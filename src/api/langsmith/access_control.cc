#include "api/langsmith/access_control.h"

#include <algorithm>
#include <string_view>

#include "policy/rule_set.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

// An expression stands for a part of a name there, and for the whole of one here. In doubt less is
// let through: an expression that allows must match the whole name, one that refuses any part of
// it.
constexpr std::string_view kAnyPart = ".*(?:", kAnyPartEnd = ").*";

// One entry of a list, as lines of a policy.
Result<std::string> lines_for(const std::string& entry, bool denies) {
  std::string text = entry;
  if (denies && text.starts_with('~'))
    text = "~" + std::string(kAnyPart) + text.substr(1) + std::string(kAnyPartEnd);
  CAY_TRY(policy::Rule rule, policy::parse_rule(text, policy::Words::kHosts));
  if (rule.action == policy::Action::kDeny || rule.kind == policy::Rule::Kind::kPolicy) {
    return Error{
        Code::kInvalidArgument, "invalid_policy",
        "'" + entry.substr(0, 100) +
            "' is no entry of a list: write a host, *.host, ~regex, an address or a network",
        0};
  }
  if (rule.kind == policy::Rule::Kind::kName && rule.word == "open") {
    return Error{Code::kInvalidArgument, "invalid_policy",
                 "'" + entry.substr(0, 100) +
                     "': for everything there is an empty deny_list; for every name below one, "
                     "*.example.com",
                 0};
  }
  const char* const mark = denies ? "!" : "";
  // Without a port, a name of one word would be a policy's.
  const bool word = rule.kind == policy::Rule::Kind::kName && !rule.ports &&
                    rule.word.find('.') == std::string::npos;
  if (!word) return mark + rule.text() + "\n";
  return denies ? mark + rule.word + ":*\n" : rule.word + ":443\n" + rule.word + ":80\n";
}

std::string read_list(codec::Fields& fields, const char* name, const json::array& list,
                      bool denies) {
  std::string out = denies ? "open\n" : "";
  for (const json::value& entry : list) {
    const auto lines = entry.is_string()
                           ? lines_for(std::string(entry.get_string()), denies)
                           : Result<std::string>(Error{Code::kInvalidArgument, "invalid_policy",
                                                       "must be a list of strings", 0});
    if (!lines) {
      fields.complain(name, lines.error().message);
      return "";
    }
    out += *lines;
  }
  return out.empty() ? "off" : out;
}

json::array list_of(const policy::RuleSet& rules) {
  json::array out;
  for (policy::Rule rule : rules.rules) {
    const bool denied = rule.action == policy::Action::kDeny;
    std::string text = rule.text();
    if (denied) text.erase(0, 1);
    const std::string_view word = rule.word;
    if (denied && rule.kind == policy::Rule::Kind::kRegex && word.starts_with(kAnyPart) &&
        word.ends_with(kAnyPartEnd)) {
      const std::string ports = text.substr(1 + word.size());
      text = "~" +
             std::string(
                 word.substr(kAnyPart.size(), word.size() - kAnyPart.size() - kAnyPartEnd.size())) +
             ports;
    }
    out.emplace_back(std::move(text));
  }
  return out;
}

}  // namespace

std::string read_access_control(codec::Fields& fields) {
  const auto* proxy = fields.object("proxy_config");
  if (proxy == nullptr) return "";
  codec::Fields of_proxy(*proxy, fields.path("proxy_config"));
  const auto* access = of_proxy.object("access_control");
  std::string policy;
  if (access != nullptr && !access->empty()) {
    codec::Fields of_access(*access, of_proxy.path("access_control"));
    const auto* allowed = of_access.array("allow_list");
    const auto* denied = of_access.array("deny_list");
    if (allowed != nullptr && denied != nullptr) {
      of_access.complain("", "allow_list or deny_list, not both");
    } else if (allowed != nullptr) {
      policy = read_list(of_access, "allow_list", *allowed, false);
    } else if (denied != nullptr) {
      policy = read_list(of_access, "deny_list", *denied, true);
    }
    of_access.refuse_unknown();
    of_proxy.adopt(of_access);
  } else if (access == nullptr && of_proxy.has("access_control")) {
    of_proxy.complain("access_control", "must be an object");
  }
  fields.adopt(of_proxy);
  return policy;
}

std::optional<json::object> access_control_json(const Sandbox& sandbox) {
  if (sandbox.policy == "off") return json::object{{"allow_list", json::array()}};
  if (sandbox.policy == "open") return json::object{{"deny_list", json::array()}};
  if (sandbox.policy != "rules") return std::nullopt;
  const auto rules = policy::parse_rules(sandbox.rules);
  if (!rules) return std::nullopt;
  const bool open = rules->otherwise == policy::Action::kAllow;
  const auto fits = [&](const policy::Rule& rule) {
    return rule.kind != policy::Rule::Kind::kPolicy &&
           (rule.action == policy::Action::kDeny) == open;
  };
  if (!std::ranges::all_of(rules->rules, fits)) return std::nullopt;
  return json::object{{open ? "deny_list" : "allow_list", list_of(*rules)}};
}

}  // namespace cay::api::langsmith
