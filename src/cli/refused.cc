#include "cli/refused.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <memory>
#include <ranges>
#include <thread>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "cli/answers.h"
#include "cli/net_words.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostListed = 32;              // for programs
constexpr std::size_t kMostNamed = 4;                // for people
constexpr std::size_t kMostRules = 300;              // bytes of rules in the command to copy
constexpr auto kPatience = std::chrono::seconds(2);  // the command's own end is what is waited for

struct RefusedLine {
  std::string host, port, reason, rule, needs, preset, address;
  json::value port_number;
  bool is_policys() const {
    constexpr const char* kReasons[] = {"not_in_policy", "port_not_in_policy", "denied_by_rule",
                                        "policy_changed", "policy_not_allowed"};
    return std::ranges::find(kReasons, reason) != std::end(kReasons);
  }
  std::string text() const {
    if (host == "*") return "what it asked for";  // of limits, where no host is meant
    const std::string name =
        printable(host.find(':') == std::string::npos ? host : "[" + host + "]");
    return port.empty() || port == "0" ? name : name + ":" + port;
  }
};

std::vector<RefusedLine> lines_within(const json::object& report, const Window& window) {
  std::vector<RefusedLine> out;
  const auto* items = report.if_contains("items");
  if (items == nullptr || !items->is_array()) return out;
  // The daemon reports a repeated refusal as one line, with the first time and the last.
  const auto is_within = [&](const std::string& at) {
    return at >= window.since && (window.until.empty() || at <= window.until);
  };
  for (const auto& item : items->get_array()) {
    if (!item.is_object()) continue;
    const auto& one = item.get_object();
    if (text_of(one, "verdict") != "refused" ||
        (!is_within(text_of(one, "last_at")) && !is_within(text_of(one, "first_at"))))
      continue;
    const auto* port = one.if_contains("port");
    RefusedLine line{.host = text_of(one, "host"),
                     .port = text_of(one, "port"),
                     .reason = text_of(one, "reason"),
                     .rule = text_of(one, "rule"),
                     .needs = text_of(one, "needs"),
                     .preset = text_of(one, "preset"),
                     .address = text_of(one, "address"),
                     .port_number = port == nullptr ? json::value(0) : *port};
    // The command is over. A line is mended if the policy allows it by now: then it needs nothing,
    // and nothing is in its way.
    if (!window.until.empty() && line.is_policys() && line.needs.empty() &&
        text_of(one, "in_the_way").empty())
      continue;
    // A line is of one reason: the latest is what holds.
    std::erase_if(out, [&](const RefusedLine& other) {
      return other.host == line.host && other.port == line.port;
    });
    out.push_back(std::move(line));
  }
  return out;
}

// A name that was refused to be looked up, and then at a port, is one.
std::vector<RefusedLine> by_host(std::vector<RefusedLine> lines) {
  const std::vector<RefusedLine> all = lines;
  std::erase_if(lines, [&](const RefusedLine& one) {
    return one.port != "0" && std::ranges::any_of(all, [&](const RefusedLine& other) {
             return other.port == "0" && other.host == one.host &&
                    other.is_policys() == one.is_policys();
           });
  });
  return lines;
}

// A word that no shell reads otherwise.
bool is_preset_name(const std::string& rule) {
  return std::ranges::all_of(rule, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

// Returns the rule for each line that is named. A preset goes before the host alone: it has the
// hosts that follow.
std::vector<std::string> needs_of(const std::vector<RefusedLine>& lines) {
  std::vector<std::string> out;
  for (const RefusedLine& line : lines | std::views::take(kMostNamed)) {
    const std::string& rule = line.preset.empty() ? line.needs : line.preset;
    if (!rule.empty() && std::ranges::find(out, rule) == out.end()) out.push_back(rule);
  }
  return out;
}

// The policy it had as a word of --policy; empty: that would be too long, or several words of a
// list.
std::string policy_word(const json::object& report) {
  const std::string policy = text_of(report, "policy");
  if (policy != "rules") return policy == "off" ? "" : policy;
  std::string out;
  const auto* rules = report.if_contains("rules");
  if (rules == nullptr || !rules->is_array()) return "";
  for (const auto& rule : rules->get_array()) {
    // In order, what is added at the end would come too late.
    if (!rule.is_string() || rule.get_string() == "first-match") return "";
    out += (out.empty() ? "" : ",") + std::string(rule.get_string());
  }
  return out.size() > kMostRules ? "" : out;
}

std::string to_allow(const json::object& report, const std::vector<std::string>& needs,
                     const WhereItRan& where) {
  std::string out;
  if (where.removed) {
    const std::string had = policy_word(report);
    if (had.empty()) return "";
    out = had;
    for (const std::string& rule : needs) out += "," + rule;
    return "to allow it: cay run --policy " + shell_quoted(printable(out)) + " …";
  }
  out = "to allow it: cay policy set " + printable(where.name);
  for (const std::string& rule : needs)
    out += " --add " + (is_preset_name(rule) ? rule : shell_quoted(printable(rule)));
  return out;
}

std::string note_of_policy(const json::object& report, const std::vector<RefusedLine>& lines,
                           const WhereItRan& where, const char* when) {
  std::string out = std::string(when) + " its policy refused ";
  const std::size_t named = std::min(lines.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) out += (i == 0 ? "" : ", ") + lines[i].text();
  if (lines.size() > named) out += " and " + std::to_string(lines.size() - named) + " more";
  std::vector<std::string> hints;
  if (!where.removed) hints.push_back("cay net " + printable(where.name) + " has more");
  const auto needs = needs_of(lines);
  if (!needs.empty()) {
    if (std::string hint = to_allow(report, needs, where); !hint.empty())
      hints.push_back(std::move(hint));
  }
  for (std::size_t i = 0; i < hints.size(); ++i) out += (i == 0 ? " (" : "; ") + hints[i];
  return hints.empty() ? out : out + ")";
}

// One alone, with its reason: there are as many as there are walls.
std::string note_of_others(const std::vector<RefusedLine>& lines, const WhereItRan& where,
                           const char* when) {
  const RefusedLine& last = lines.back();
  sdk::NetworkDecision line;
  line.address = last.address;
  line.reason = last.reason;
  line.rule = last.rule;
  std::string out =
      std::string(when) + " its way out refused " + last.text() + ": " + printable(words_for(line));
  if (lines.size() > 1) out += "; and " + std::to_string(lines.size() - 1) + " more";
  return where.removed ? out : out + " (cay net " + printable(where.name) + " has more)";
}

json::object report_now(const sdk::Sandbox& box) { return parsed(box.network().json); }

// Returns the time of the command before this one, if that ended with 0 and something was refused
// while it ran.
std::optional<Window> the_one_before(const json::object& report, const sdk::Sandbox& box,
                                     const sdk::CommandInfo& command) {
  if (lines_within(report, {}).empty())
    return std::nullopt;  // the usual case, without a further request
  const sdk::CommandInfo* before = nullptr;
  const auto all = box.commands();
  for (const auto& one : all) {
    if (one.id == command.id || one.started_at > command.started_at || one.ended_at.empty() ||
        one.ended_at > command.started_at)
      continue;
    if (before == nullptr || one.started_at > before->started_at) before = &one;
  }
  if (before == nullptr || before->exit_code != 0) return std::nullopt;
  Window out{before->started_at, before->ended_at};
  if (lines_within(report, out).empty()) return std::nullopt;
  return out;
}

}  // namespace

json::array refused_since(const json::object& report, const std::string& since) {
  auto lines = lines_within(report, {since});
  if (lines.size() > kMostListed)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMostListed));
  json::array out;
  for (const RefusedLine& one : lines)
    out.emplace_back(json::object{{"host", one.host},
                                  {"port", one.port_number},
                                  {"reason", one.reason},
                                  {"rule", one.rule},
                                  {"needs", one.needs},
                                  {"preset", one.preset}});
  return out;
}

std::string refusal_note(const json::object& report, const Window& window, const WhereItRan& where,
                         const char* when) {
  std::vector<RefusedLine> policys, others;
  for (RefusedLine& line : by_host(lines_within(report, window)))
    (line.is_policys() ? policys : others).push_back(std::move(line));
  std::string out;
  if (!policys.empty()) out = note_of_policy(report, policys, where, when);
  if (!others.empty()) out += (out.empty() ? "" : "\n") + note_of_others(others, where, when);
  return out;
}

std::optional<Refusals> refusals_of(const sdk::Sandbox& box, const sdk::CommandInfo& command) {
  // On a thread that is left behind: a daemon that hangs must not keep the end of a command from
  // whoever waits for it.
  auto promise = std::make_shared<std::promise<std::optional<Refusals>>>();
  auto answer = promise->get_future();
  std::thread([promise, box, command] {
    std::optional<Refusals> out;
    try {
      auto report = report_now(box);
      std::optional<Window> before;
      if (lines_within(report, {command.started_at}).empty())
        before = the_one_before(report, box, command);
      out = Refusals{std::move(report), std::move(before)};
    } catch (const std::exception&) {
      // An older daemon, a key without the right, a sandbox that is gone: the command's end is
      // shown without refusals.
      out.reset();
    }
    promise->set_value(std::move(out));
  }).detach();
  if (answer.wait_for(kPatience) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

}  // namespace cay::cli
