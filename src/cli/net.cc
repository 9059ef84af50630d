// cay net: what a sandbox tried to reach, and what became of it.
#include <set>
#include <string>

#include "base/ip_address.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"

namespace cay::cli {
namespace {

std::string words_for(const sdk::NetworkDecision& line) {
  if (line.reason.empty()) return "";
  if (line.reason == "not_in_policy") return "no rule of its policy matches";
  if (line.reason == "denied_by_rule") return "refused by the rule " + printable(line.rule);
  if (line.reason == "policy_changed") return "its policy was changed" + (line.rule.empty() ? std::string() : ": refused by the rule " + printable(line.rule));
  if (line.reason == "port_not_in_policy") return "its policy has that host at other ports";
  if (line.reason == "policy_not_allowed") return "the operator allows its policy no more (network.policies)";
  if (line.reason == "private_address") {
    const auto address = IpAddress::parse(line.address);
    if (!address) return "a private, local or reserved address";
    const std::string_view kind = kind_of(*address);
    return kind.empty() ? "an address of this host itself" : std::string(kind);
  }
  if (line.reason == "names_no_host" || line.reason == "not_tls" || line.reason == "not_http") return "its first bytes name no host";
  if (line.reason == "server_name_changed") return "its second ClientHello named another host than its first";
  if (line.reason == "too_many_hosts") return "requests for more than 16 hosts over one connection";
  if (line.reason == "said_too_little") return "it ended, or 10 s passed, before its first bytes named a host";
  if (line.reason == "lookup_failed") return "this host's resolver failed";
  if (line.reason == "gate_failed") return "the gate ran out of descriptors, memory or ports";
  if (line.reason == "name_not_found") return "the name has no address";
  if (line.reason == "unreachable") return "no way there from this host";
  if (line.reason == "refused_by_host") return "nothing listens there";
  if (line.reason == "no_answer") return "no answer";
  if (line.reason == "token_unknown") return "without the token that its proxy rule gives";
  if (line.reason == "no_such_rule") return "no proxy rule is for it";
  if (line.reason == "rule_changed") return "cut: its proxy rule or secret was changed";
  if (line.reason == "path_not_in_rule") return "its proxy rule does not have that path";
  if (line.reason == "host_mismatch") return "the request named another host than the connection";
  if (line.reason == "secret_reflected") return "cut: the answer held the secret";
  if (line.reason == "answer_unreadable") return "the answer was packed, and a secret could be in it";
  if (line.reason == "authority_not_trusted") return "the client does not trust the sandbox's authority, or spoke no TLS";
  if (line.reason == "tls_untrusted") return "its certificate is not trusted";
  if (line.reason == "vault_unavailable") return "the broker, which keeps secrets, is away";
  if (line.reason == "proxy_unreachable") return "the host's proxy does not answer";
  if (line.reason == "proxy_refused") return "the host's proxy refuses it";
  if (line.reason == "proxy_bad_answer") return "the host's proxy gives no proper answer";
  if (line.reason == "too_many_connections") return "too many connections at once";
  if (line.reason == "too_many_new_names") return "too many names a second that were never asked for before";
  if (line.reason == "too_many_new_connections") return "too many new connections a second";
  return line.reason;
}

// Of the way out itself, where the policy's name does not say it all.
std::string state_of(const sdk::NetworkReport& report, const std::string& sandbox) {
  if (report.policy == "off" && (report.running_policy.empty() || report.running_policy == "off")) {
    return "nothing outside is reached, and nothing that is tried is listed: `cay policy set " + printable(sandbox) + " packages` (or open, or rules) changes that "
           "from its next start\n";
  }
  if (report.network == "unavailable") return "no way out: " + printable(report.network_reason) + "\n";
  std::string out;
  if (!report.running_policy.empty() && report.running_policy != report.policy) {
    out += (report.running_policy == "off" ? "from its next start; now it runs by " : "now the gate goes by ") + printable(report.running_policy) + "\n";
  } else if ((report.policy != "off") != (report.network == "on")) {
    out += "from its next start; as of the last one the way out is " + report.network + "\n";
  }
  if (!report.policy_allowed) out += "the operator allows this policy no more (network.policies): nothing is reached by it\n";
  if (!report.gate_serves) out += "the gate is not running: nothing gets out until it is back\n";
  return out;
}

}  // namespace

int net_command(Context& at, const NetArgs& args) {
  const auto box = at.client.sandbox(args.sandbox);
  if (!args.policy.empty()) {
    sdk::UpdateOptions update;
    update.policy = args.policy;
    box.update(update);
  }
  const auto report = box.network();
  if (at.json) {
    print(report.json + "\n");
    return kOk;
  }
  std::vector<Row> rows;
  std::set<std::string> remedies;
  for (const auto& line : report.items) {
    rows.push_back({line.last_at, printable(line.host), line.port == 0 ? "dns" : std::to_string(line.port),
                    line.allowed ? "allowed" : "refused", std::to_string(line.count), human_size(line.sent_bytes),
                    human_size(line.received_bytes), words_for(line)});
    if (!line.remedy.empty()) remedies.insert(printable(line.host) + ": " + printable(line.remedy));
  }
  print("policy " + report.policy + "\n" + state_of(report, args.sandbox));
  if (!rows.empty()) print(table({"LAST", "HOST", "PORT", "VERDICT", "COUNT", "OUT", "IN", "WHY"}, rows));
  if (report.forgotten > 0) print(std::to_string(report.forgotten) + " older lines made room\n");
  if (!remedies.empty()) print("\nTo allow:\n");
  for (const std::string& remedy : remedies) print("  " + remedy + "\n");
  return kOk;
}

}  // namespace cay::cli
