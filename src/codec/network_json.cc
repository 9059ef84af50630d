#include "codec/network_json.h"

#include "base/ip_address.h"
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

}  // namespace

std::string remedy_for(const NetworkDecision& decision) {
  const std::string host = shown(decision.host);
  const bool six = host.find(':') != std::string::npos;
  const std::string at = decision.port == 0 ? host : (six ? "[" + host + "]" : host) + ":" + std::to_string(decision.port);
  const std::string& why = decision.reason;
  if (decision.allowed || host.find('\\') != std::string::npos) return "";  // such a name is no host's
  if (why == "not_in_policy" || why == "port_not_in_policy" || why == "not_tls" || why == "not_http" || why == "names_no_host" ||
      why == "said_too_little") {
    return "cay net SANDBOX --policy open, from its next start; or, for every sandbox, add \"" + at + "\" to network.hosts in the daemon's settings";
  }
  if (why == "private_address") {
    const auto address = IpAddress::parse(decision.address);
    if (address && kind_of(*address) == "loopback") return "";  // network.networks takes none: inside it is the sandbox's own
    const std::string add = "add \"" + shown(decision.address.empty() ? "ADDRESS" : decision.address) + "\" to network.networks in the daemon's settings";
    return address && is_metadata(*address) ? add + ", which gives every sandbox what it tells of this machine: its credentials, often" : add;
  }
  return "";
}

json::object to_json(const NetworkReport& report) {
  json::array items;
  for (const NetworkDecision& item : report.items) {
    items.emplace_back(json::object{{"host", shown(item.host)},
                                    {"port", item.port},
                                    {"address", shown(item.address)},
                                    {"verdict", item.allowed ? "allowed" : "refused"},
                                    {"reason", shown(item.reason)},
                                    {"remedy", remedy_for(item)},
                                    {"count", item.count},
                                    {"first_at", rfc3339(item.first_at)},
                                    {"last_at", rfc3339(item.last_at)},
                                    {"sent_bytes", item.sent_bytes},
                                    {"received_bytes", item.received_bytes}});
  }
  return {{"policy", report.policy},
          {"running_policy", shown(report.running_policy)},
          {"policy_allowed", report.policy_allowed},
          {"gate", report.gate_serves ? "serves" : "down"},
          {"network", to_json(report.network)},
          {"items", std::move(items)},
          {"forgotten", report.forgotten}};
}

}  // namespace cay::codec
