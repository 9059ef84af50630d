// cay net: what a sandbox tried to reach, and what became of it.
#include <memory>
#include <set>
#include <string>

#include "cli/answers.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/net_words.h"
#include "cli/output.h"
#include "cli/patient.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr int kPage = 1000;
constexpr int kWaitSeconds = 30;

// Returns the state of the way out itself, where the policy's name does not show it all.
std::string state_of(const sdk::NetworkReport& report, const std::string& sandbox) {
  const bool has_a_way_out = report.network == "on";
  if (report.policy == "off" && !has_a_way_out &&
      (report.running_policy.empty() || report.running_policy == "off")) {
    return "nothing outside is reached, and nothing that is tried is listed: `cay policy set " +
           printable(sandbox) +
           " packages` (or open, or rules) changes that "
           "from its next start\n";
  }
  if (report.network == "unavailable")
    return "no way out: " + printable(report.network_reason) + "\n";
  std::string out;
  if (!report.running_policy.empty() && report.running_policy != report.policy) {
    out += (!has_a_way_out ? "from its next start; now it runs by " : "now the gate goes by ") +
           printable(report.running_policy) + "\n";
  } else if (report.running_policy.empty() && (report.policy != "off") != has_a_way_out) {
    out += "from its next start; as of the last one the way out is " + report.network + "\n";
  }
  if (!report.policy_allowed)
    out += "the operator allows this policy no more (network.policies): nothing is reached by it\n";
  if (!report.gate_serves) out += "the gate is not running: nothing gets out until it is back\n";
  return out;
}

// "12  2026-11-21T00:00:00.000Z  refused  connection  a.test:443 (192.0.2.1)  no rule of its policy
// matches"
std::string line_of(const json::object& one) {
  std::string out = text_of(one, "number") + "  " + text_of(one, "at") + "  ";
  if (text_of(one, "kind") == "restart")
    return out +
           "the gate was started again: what it decided in its last moment may be missing here\n";
  const std::string host = text_of(one, "host"), address = text_of(one, "address"),
                    port = text_of(one, "port");
  out += text_of(one, "result") + "  " + text_of(one, "kind") + "  " +
         printable(host.find(':') == std::string::npos ? host : "[" + host + "]");
  if (!port.empty() && port != "0") out += ":" + port;
  if (!address.empty() && address != host) out += " (" + printable(address) + ")";
  sdk::NetworkDecision line;
  line.address = address;
  line.reason = text_of(one, "reason");
  line.rule = text_of(one, "rule");
  std::string why = words_for(line);
  if (why.empty() && !line.rule.empty()) why = "by the rule " + printable(line.rule);
  return out + (why.empty() ? "" : "  " + why) + "\n";
}

void show(const json::object& page, bool as_json) {
  const std::string missed = text_of(page, "missed");
  if (!missed.empty() && missed != "0") {
    print(as_json ? codec::write(json::object{{"missed", page.at("missed")}}) + "\n"
                  : missed + " missed: they are no longer kept, or were too many at once\n");
  }
  for (const auto& item : page.at("items").as_array())
    print(as_json ? codec::write(item) + "\n" : line_of(item.as_object()));
}

// Until it is interrupted, or the sandbox is gone. The log is the gate's own: a daemon that is
// restarted meanwhile loses nothing of it.
int follow(Context& at, const NetArgs& args) {
  std::string after = args.after;
  for (bool first = true;; first = false) {
    std::string target = "/api/v1/sandboxes/" + http::encode_segment(args.sandbox) +
                         "/network/decisions?limit=" + std::to_string(kPage);
    if (!after.empty()) target += "&after=" + http::encode_segment(after);
    // A page without waiting comes first: it shows where "now" is, too.
    if (!first) target += "&wait_s=" + std::to_string(kWaitSeconds);
    const auto page = parsed(first ? at.client.request("GET", target)
                                   : patient_get(at, target, sleeping()).value_or(""));
    show(page, at.json);
    after = codec::write(page.at("next_after"));
  }
}

std::string questions_route(const std::string& sandbox) {
  return "/api/v1/sandboxes/" + http::encode_segment(sandbox) + "/network/questions";
}

std::string destination_of(const json::object& question) {
  const std::string host = text_of(question, "host");
  return printable(host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
         text_of(question, "port");
}

int list_questions(Context& at, const NetArgs& args) {
  const std::string body = at.client.request("GET", questions_route(args.sandbox));
  if (at.json) {
    print(body + "\n");
    return kOk;
  }
  std::vector<Row> rows;
  const auto answer = parsed(body);
  for (const auto& item : answer.at("items").as_array()) {
    const auto& one = item.as_object();
    rows.push_back({text_of(one, "id"), destination_of(one), text_of(one, "waiting"),
                    text_of(one, "asked_at"), text_of(one, "expires_at")});
  }
  if (rows.empty()) {
    print("nobody waits for an answer\n");
    return kOk;
  }
  print(table({"ID", "DESTINATION", "WAITING", "ASKED", "REFUSED AT"}, rows));
  print("\n`cay net " + printable(args.sandbox) +
        " --allow ID` (or --deny) answers one. With --always it becomes a rule.\n");
  return kOk;
}

// By its id, or by its host or HOST:PORT, where one alone is open.
std::string question_id(Context& at, const NetArgs& args, const std::string& meant) {
  const auto answer = parsed(at.client.request("GET", questions_route(args.sandbox)));
  std::string found;
  for (const auto& item : answer.at("items").as_array()) {
    const auto& one = item.as_object();
    if (text_of(one, "id") == meant) return meant;
    if (text_of(one, "host") != meant && destination_of(one) != meant) continue;
    if (!found.empty())
      throw ApiError(ErrorCode::kInvalidArgument, "invalid_field",
                     "several questions are about " + printable(meant) + ": name one by its id");
    found = text_of(one, "id");
  }
  if (found.empty())
    throw ApiError(ErrorCode::kNotFound, "question_not_found",
                   "no question about " + printable(meant) + " is open: `cay net " +
                       printable(args.sandbox) + " --questions` lists them");
  return found;
}

int answer_question(Context& at, const NetArgs& args) {
  const bool allows = !args.allow.empty();
  const std::string id = question_id(at, args, allows ? args.allow : args.deny);
  const json::object body{{"verdict", allows ? "allow" : "deny"},
                          {"for", args.always ? "always" : "once"}};
  const std::string got = at.client.request(
      "POST", questions_route(args.sandbox) + "/" + http::encode_segment(id), codec::write(body));
  const auto answer = parsed(got);
  print(at.json ? got + "\n"
                : std::string(allows ? "allowed " : "refused ") + destination_of(answer) +
                      (args.always ? ", from now on\n" : ", this once\n"));
  return kOk;
}

int net_command(Context& at, const NetArgs& args) {
  if (args.follow) return follow(at, args);
  if (args.questions) return list_questions(at, args);
  if (!args.allow.empty() || !args.deny.empty()) return answer_question(at, args);
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
    rows.push_back({line.last_at, printable(line.host),
                    line.port == 0 ? "dns" : std::to_string(line.port),
                    line.allowed ? "allowed" : "refused", std::to_string(line.count),
                    human_size(line.sent_bytes), human_size(line.received_bytes), words_for(line)});
    if (!line.remedy.empty())
      remedies.insert(printable(line.host) + ": " +
                      for_sandbox(printable(line.remedy), args.sandbox));
  }
  print("policy " + report.policy + "\n" + state_of(report, args.sandbox));
  if (!rows.empty())
    print(table({"LAST", "HOST", "PORT", "VERDICT", "COUNT", "OUT", "IN", "WHY"}, rows));
  if (report.sent_bytes + report.received_bytes > 0)
    print("in all: " + human_size(report.sent_bytes) + " out, " +
          human_size(report.received_bytes) + " in\n");
  if (report.forgotten > 0) print(std::to_string(report.forgotten) + " older lines made room\n");
  if (!remedies.empty()) print("\nTo allow:\n");
  for (const std::string& remedy : remedies) print("  " + remedy + "\n");
  return kOk;
}

}  // namespace

Command net_entry() {
  const auto net = std::make_shared<NetArgs>();
  return {
      .name = "net",
      .help = "What a sandbox tried to reach: allowed and refused, and what would allow it",
      .examples =
          "  cay net box                          counted by host, port and verdict, the latest "
          "last\n"
          "  cay net box --follow                 each decision as it is made, from the oldest "
          "that is kept; Ctrl-C ends it\n"
          "  cay net box --follow --after now --json   one JSON object a line, from now on\n"
          "  cay net box --follow --after 1200    what came behind number 1200\n"
          "  cay net box --questions              what it wants to reach and nobody has decided "
          "(policy with `ask`)\n"
          "  cay net box --allow pypi.org         once; with --always by a rule from now on\n"
          "  cay net box --policy packages        another policy, at once: see `cay policy`\n\n"
          "Of a stopped sandbox too: nothing is woken. `cay policy try box` lists the rules "
          "that would have let through what was refused.\n",
      .options =
          [net](Options& to) {
            to.flag("-f,--follow", net->follow, "Decision by decision, and wait for what comes");
            to.text(
                "--after", net->after,
                "With --follow: the number of the last decision seen, or now (default: all that "
                "are kept)");
            to.text("--policy", net->policy,
                    "Change what it may reach: a policy (`cay policy ls`), or rules",
                    no_empty_policy);
            to.flag("--questions", net->questions,
                    "Destinations that wait for an answer: of a policy with `ask`");
            to.text("--allow", net->allow, "Allow what waits: a question's id, or its host");
            to.text("--deny", net->deny, "Refuse what waits: a question's id, or its host");
            to.flag("--always", net->always, "With --allow or --deny: by a rule from now on");
            to.needed("SANDBOX", net->sandbox, "Id or name");
          },
      .args = [net](const Line&) -> std::any {
        if (!net->after.empty() && !net->follow)
          wrong("--after", "goes with --follow: without, what was tried is counted by kind");
        if (!net->policy.empty() && net->follow)
          wrong("--policy",
                "and --follow do not go together: `cay policy set` changes it meanwhile");
        const int answers = (net->allow.empty() ? 0 : 1) + (net->deny.empty() ? 0 : 1);
        if (answers + (net->questions ? 1 : 0) + (net->follow ? 1 : 0) > 1)
          wrong("--questions", "--allow, --deny and --follow do not go together");
        if (net->always && answers == 0) wrong("--always", "goes with --allow or --deny");
        return *net;
      },
      .run = runs(net_command)};
}

}  // namespace cay::cli
