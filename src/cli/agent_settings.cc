#include "cli/agent_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace cay::cli {
namespace {

Error bad_decision(const std::string& why) {
  return {Code::kInvalidArgument, "bad_decision", why, 0};
}

Result<agent::Decision> decision_of(std::string_view text, const agent::PendingCall& call) {
  using Type = agent::Decision::Type;
  const auto equals = text.find('=');
  const std::string_view word = text.substr(0, equals);
  const std::string rest(equals == std::string_view::npos ? "" : text.substr(equals + 1));
  agent::Decision out{.call_id = call.call_id, .seen = call.arguments};
  if (word == "approve" && rest.empty()) {
    out.type = Type::kApprove;
  } else if (word == "reject") {
    out.type = Type::kReject;
    out.message = rest;
  } else if (word == "respond" && !rest.empty()) {
    out.type = Type::kRespond;
    out.message = rest;
  } else if (word == "edit" && codec::parse_object(rest)) {
    out.type = Type::kEdit;
    out.arguments = rest;
  } else {
    return bad_decision(
        "--decide takes approve, reject, reject=WHY, respond=TEXT or edit=JSON, "
        "not '" +
        std::string(text) + "'");
  }
  return out;
}

// nullopt: they are unknown.
Result<std::optional<agent::Prices>> prices_of(const AgentPriceArgs& args) {
  const bool any = args.input || args.output || args.cache_read || args.cache_write;
  if (!any) return std::optional<agent::Prices>();
  if (!args.input || !args.output)
    return Error{Code::kInvalidArgument, "bad_price",
                 "a cost needs both --input-price and --output-price (CAY_INPUT_PRICE, "
                 "CAY_OUTPUT_PRICE)",
                 0};
  return std::optional(agent::Prices{.input = *args.input,
                                     .output = *args.output,
                                     .cache_read = args.cache_read,
                                     .cache_write = args.cache_write});
}

// Package registries are reached as usual, unless the policy is given.
std::string policy_with_questions(const std::string& policy) {
  return (policy.empty() ? "packages" : policy) + ",ask";
}

}  // namespace

Result<agent::ApprovalRule> parse_rule(std::string_view text) {
  constexpr std::pair<std::string_view, agent::Verdict> kVerdicts[] = {
      {"allow", agent::Verdict::kAllow},
      {"ask", agent::Verdict::kAsk},
      {"deny", agent::Verdict::kDeny}};
  const auto equals = text.find('=');
  for (const auto& [word, verdict] : kVerdicts) {
    if (text.substr(0, equals) != word) continue;
    if (equals == std::string_view::npos) return agent::ApprovalRule{"*", "", verdict};
    const std::string_view rest = text.substr(equals + 1);
    const auto colon = rest.find(':');
    agent::ApprovalRule rule{std::string(rest.substr(0, colon)), "", verdict};
    if (colon != std::string_view::npos) rule.pattern = std::string(rest.substr(colon + 1));
    if (!rule.tool.empty()) return rule;
  }
  return Error{Code::kInvalidArgument, "invalid_rule",
               "'" + std::string(text) +
                   "' is no rule: write allow, ask or deny, then =TOOL or =TOOL:PATTERN, as "
                   "ask=execute or 'deny=execute:rm *'",
               0};
}

Result<double> parse_cost(std::string_view text) {
  double value = 0;
  const std::string_view number = text.starts_with('$') ? text.substr(1) : text;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (failed != std::errc() || end != number.data() + number.size() || !(value > 0))
    return Error{Code::kInvalidArgument, "bad_cost",
                 "'" + std::string(text) + "' is no cost in US dollars: write it like 0.50", 0};
  return value;
}

Result<double> parse_price(std::string_view text) {
  double value = 0;
  const std::string_view number = text.starts_with('$') ? text.substr(1) : text;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (failed == std::errc() && end == number.data() + number.size() && value >= 0 &&
      std::isfinite(value))
    return value;
  return Error{Code::kInvalidArgument, "bad_price",
               "'" + std::string(text) +
                   "' is no price in US dollars for a million tokens: write it like 2.50",
               0};
}

Result<double> parse_temperature(std::string_view text) {
  constexpr double kMost = 2;
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc() && end == text.data() + text.size() && value >= 0 && value <= kMost)
    return value;
  return Error{Code::kInvalidArgument, "bad_temperature",
               "'" + std::string(text) + "' is no temperature: write a number from 0 to 2", 0};
}

Result<std::vector<agent::ApprovalRule>> rules_of(const AgentArgs& args) {
  std::vector<agent::ApprovalRule> out;
  for (const std::string& text : args.approve) {
    CAY_TRY(auto rule, parse_rule(text));
    out.push_back(std::move(rule));
  }
  if (args.sandbox == "local") out.push_back({"*", "", agent::Verdict::kAsk});
  return out;
}

Result<std::vector<agent::Decision>> decisions_of(const std::vector<std::string>& texts,
                                                  const std::vector<agent::PendingCall>& pending) {
  if (pending.empty()) return bad_decision("no call of this thread waits for a decision");
  if (texts.size() != 1 && texts.size() != pending.size())
    return bad_decision(std::to_string(pending.size()) +
                        " calls wait: give --decide once for all "
                        "of them, or once for each in their order");
  std::vector<agent::Decision> out;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    CAY_TRY(auto decision, decision_of(texts[texts.size() == 1 ? 0 : i], pending[i]));
    out.push_back(std::move(decision));
  }
  return out;
}

Result<agent::AgentOptions> options_of(const AgentArgs& args) {
  constexpr double kMillis = 1000;
  agent::AgentOptions out;
  out.model.model = args.model;
  out.model.base_url = args.base_url;
  out.model.temperature = args.temperature;
  out.model.max_retries = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(args.max_retries, std::numeric_limits<std::uint32_t>::max()));
  if (!args.fallback.empty()) {
    out.fallback.emplace();
    out.fallback->model = args.fallback;
    out.fallback->temperature = out.model.temperature;
    out.fallback->max_retries = out.model.max_retries;
  }
  CAY_TRY(out.model.profile.prices, prices_of(args.prices));
  if (args.limits.cost > 0 && !out.model.profile.prices)
    return Error{Code::kInvalidArgument, "no_prices",
                 "--max-cost needs the model's prices, in US dollars for a million tokens: give "
                 "--input-price and --output-price, or bound the run by --max-tokens",
                 0};
  out.offered = args.tools;
  out.subagent_depth = static_cast<std::uint32_t>(args.subagent_depth);
  out.built_in.web.hosts = args.web;
  CAY_CHECK(agent::check_search_url(args.search_url));
  out.built_in.web.search_url = args.search_url;
  out.todos = args.todos;
  out.model.profile.calls_by_schema = args.calls_by_schema;
  out.model.profile.context_tokens = args.context_tokens;
  out.replace_lost_sandbox = args.new_sandbox;
  out.system_prompt = args.system;
  if (!args.sandbox.empty()) out.provider = args.sandbox;
  out.sandbox.id = args.id;
  out.sandbox.snapshot = args.snapshot.empty() ? args.image : args.snapshot;
  out.sandbox.policy = args.policy;
  if (args.ask_network) {
    if (out.provider != "cay")
      return Error{Code::kInvalidArgument, "invalid_field",
                   "--ask-network needs a sandbox of Cay: other providers hold no connection", 0};
    if (args.id.empty()) out.sandbox.policy = policy_with_questions(args.policy);
  }
  out.built_in.permissions = agent::rules_on(args.read_only, args.hidden);
  if (args.id.empty()) out.sandbox.idle_ttl_s = kThreadIdleS;
  out.checkpoint = args.checkpoint;
  CAY_TRY(out.rules, rules_of(args));
  out.limits = {.steps = args.limits.steps,
                .tokens = args.limits.tokens,
                .cost = args.limits.cost,
                .time = Millis(std::llround(args.limits.timeout_s * kMillis))};
  out.skills = args.skills;
  out.memory = args.memory;
  return out;
}

}  // namespace cay::cli
