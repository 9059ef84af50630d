#include "codec/network_json.h"

#include <algorithm>

#include "codec/model_json.h"
#include "codec/time.h"
#include "codec/utf8.h"

namespace cay::codec {
namespace {

// Names come from the sandbox: bytes that are no UTF-8 must not break the document.
std::string shown(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string out;
  for (const char c : text) out += c > ' ' && c < 0x7f ? c : '?';
  return out;
}

json::array texts_of(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& one : texts) out.emplace_back(shown(one));
  return out;
}

}  // namespace

json::array lines_of(std::string_view text) {
  json::array out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    out.emplace_back(shown(std::string(line)));
  }
  return out;
}

std::string remedy_for(const NetworkDecision& decision, bool takes_hosts) {
  const std::string host = shown(decision.host);
  const bool six = host.find(':') != std::string::npos;
  const std::string at =
      decision.port == 0 ? host
                         : (six ? "[" + host + "]" : host) + ":" + std::to_string(decision.port);
  if (decision.allowed || host.find('\\') != std::string::npos)
    return "";  // such a name is no host's
  if (!decision.needs.empty()) {
    std::string add = "cay policy set SANDBOX --add '" + shown(decision.needs) + "'";
    if (!decision.preset.empty()) {
      add = "cay policy set SANDBOX --add " + decision.preset + "; or, for that host alone, " + add;
    }
    return takes_hosts ? add + "; or, for every sandbox, add \"" + at +
                             "\" to network.hosts in the daemon's settings"
                       : add;
  }
  // The advice is a remedy only for these. It explains the others, which nothing helps.
  constexpr const char* kHelps[] = {"special_address", "metadata_address", "proxy_rule",
                                    "denied_by_rule", "operator"};
  return std::ranges::find(kHelps, decision.in_the_way) != std::end(kHelps) ? shown(decision.advice)
                                                                            : "";
}

json::object to_json(const NetworkReport& report) {
  json::array items;
  for (const NetworkDecision& item : report.items) {
    items.emplace_back(json::object{{"host", shown(item.host)},
                                    {"port", item.port},
                                    {"address", shown(item.address)},
                                    {"verdict", item.allowed ? "allowed" : "refused"},
                                    {"reason", shown(item.reason)},
                                    {"rule", shown(item.rule)},
                                    {"needs", shown(item.needs)},
                                    {"preset", item.preset},
                                    {"in_the_way", item.in_the_way},
                                    {"advice", shown(item.advice)},
                                    {"remedy", remedy_for(item, report.takes_hosts)},
                                    {"count", item.count},
                                    {"first_at", rfc3339(item.first_at)},
                                    {"last_at", rfc3339(item.last_at)},
                                    {"sent_bytes", item.sent_bytes},
                                    {"received_bytes", item.received_bytes}});
  }
  return {{"policy", report.policy},
          {"rules", lines_of(report.rules)},
          {"running_policy", shown(report.running_policy)},
          {"running_rules", lines_of(report.running_rules)},
          {"policy_allowed", report.policy_allowed},
          {"gate", report.gate_serves ? "serves" : "down"},
          {"network", to_json(report.network)},
          {"items", std::move(items)},
          {"needed", texts_of(report.needed)},
          {"forgotten", report.forgotten},
          {"sent_bytes", report.sent_bytes},
          {"received_bytes", report.received_bytes}};
}

json::object to_json(const DecidedPage& page) {
  json::array items;
  for (const Decided& one : page.items) {
    json::object item{{"number", one.number}, {"at", rfc3339(one.at)}, {"kind", one.kind}};
    if (one.kind != "restart") {
      item["result"] = one.result;
      item["host"] = shown(one.host);
      item["port"] = one.port;
      item["address"] = shown(one.address);
      item["reason"] = shown(one.reason);
      item["rule"] = shown(one.rule);
    }
    items.emplace_back(std::move(item));
  }
  return {{"items", std::move(items)},
          {"next_after", page.next_after},
          {"oldest", page.oldest},
          {"last", page.last},
          {"missed", page.missed}};
}

json::object to_json(const NetworkQuestion& question) {
  return {{"id", shown(question.id)},
          {"host", shown(question.host)},
          {"port", question.port},
          {"asked_at", rfc3339(question.asked_at)},
          {"expires_at", rfc3339(question.expires_at)},
          {"waiting", question.waiting}};
}

json::object to_json(const PolicyInfo& policy) {
  return {{"name", policy.name},         {"about", policy.about},
          {"origin", policy.origin},     {"rules", texts_of(policy.rules)},
          {"default", policy.otherwise}, {"order", policy.order},
          {"allowed", policy.allowed}};
}

json::object to_json(const PolicyList& list) {
  json::array items;
  for (const PolicyInfo& one : list.items) items.emplace_back(to_json(one));
  return {{"items", std::move(items)}, {"default", list.usual}};
}

json::object to_json(const PolicyTrial& trial) {
  return {{"policy", trial.policy},
          {"rules", lines_of(trial.rules)},
          {"verdict", trial.allowed ? "allowed" : "refused"},
          {"reason", trial.reason},
          {"rule", trial.rule},
          {"needs", trial.needs},
          {"preset", trial.preset},
          {"in_the_way", trial.in_the_way},
          {"advice", shown(trial.advice)},
          {"proxy_rule", shown(trial.proxy_rule)},
          {"note", shown(trial.note)}};
}

}  // namespace cay::codec
