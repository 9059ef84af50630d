// cay policy: which policies there are, what a sandbox has, what one would let through; and another
// one, at once.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/net_words.h"
#include "cli/output.h"
#include "cli/policy_used.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr const char* kRoute = "/api/v1/policies";
constexpr std::size_t kMostFile = 256 * 1024;

std::vector<std::string> texts_of(const json::object& from, const char* name) {
  std::vector<std::string> out;
  const auto* value = from.if_contains(name);
  if (value == nullptr || !value->is_array()) return out;
  for (const auto& one : value->get_array()) {
    if (one.is_string()) out.emplace_back(one.get_string());
  }
  return out;
}

bool is_false(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_bool() && !value->get_bool();
}

std::string sandbox_route(const std::string& sandbox) {
  return "/api/v1/sandboxes/" + http::encode_segment(sandbox);
}

int list(Context& at) {
  const std::string body = at.client.request("GET", kRoute);
  if (at.json) {
    print(body + "\n");
    return kOk;
  }
  const auto answer = parsed(body);
  const std::string usual = text_of(answer, "default");
  std::vector<Row> rows;
  for (const auto& item : answer.at("items").as_array()) {
    const auto& one = item.as_object();
    const std::string name = text_of(one, "name");
    rows.push_back({printable(name) + (name == usual ? " (default)" : ""), text_of(one, "origin"),
                    is_false(one, "allowed") ? "no" : "yes",
                    std::to_string(texts_of(one, "rules").size()),
                    printable(text_of(one, "about"))});
  }
  print(table({"NAME", "ORIGIN", "ALLOWED", "RULES", "ABOUT"}, rows));
  return kOk;
}

int show(Context& at, const std::string& name) {
  const auto answer = parsed(at.client.request("GET", kRoute));
  for (const auto& item : answer.at("items").as_array()) {
    const auto& one = item.as_object();
    if (text_of(one, "name") != name) continue;
    if (at.json) {
      print(codec::write(one) + "\n");
      return kOk;
    }
    std::string out = "# " + printable(text_of(one, "about")) + "\n";
    if (text_of(one, "default") != "deny") out += "default " + text_of(one, "default") + "\n";
    if (text_of(one, "order") == "first-match") out += "first-match\n";
    for (const std::string& rule : texts_of(one, "rules")) out += printable(rule) + "\n";
    print(out);
    return kOk;
  }
  throw ApiError(ErrorCode::kNotFound, "policy_not_found",
                 "there is no policy '" + name + "': `cay policy ls` lists them");
}

void show_rules(const json::object& of) {
  for (const std::string& rule : texts_of(of, "rules")) print("  " + printable(rule) + "\n");
}

// An expression without a dot, or what stands for one, refuses a name of one word.
void warn_of_expressions(const json::object& of) {
  for (const std::string& rule : texts_of(of, "rules")) {
    if (!rule.starts_with("!~") || rule.find_first_of(".[\\^$") != std::string::npos) continue;
    print_error(
        printable(rule) +
        " refuses no name that has a dot: an expression has to match the whole name, as '!~.*" +
        printable(rule.substr(2)) + ".*' does");
  }
}

int get(Context& at, const std::string& sandbox) {
  const std::string body = at.client.request("GET", sandbox_route(sandbox) + "/network");
  if (at.json) {
    print(body + "\n");
    return kOk;
  }
  const auto answer = parsed(body);
  print("policy " + printable(text_of(answer, "policy")) + "\n");
  show_rules(answer);
  const std::string running = text_of(answer, "running_policy");
  if (!running.empty() && (running != text_of(answer, "policy") ||
                           texts_of(answer, "running_rules") != texts_of(answer, "rules"))) {
    const bool without = text_of(answer.at("network").as_object(), "state") != "on";
    print("now it runs by " + printable(running) +
          (without ? ": it was started without a way out; it counts from its next start\n" : "\n"));
  }
  if (is_false(answer, "policy_allowed"))
    print("the operator allows this policy no more (network.policies): nothing is reached by it\n");
  return kOk;
}

std::string stdin_text() {
  std::string text;
  char piece[4096];
  ssize_t got = 0;
  while (text.size() <= kMostFile && (got = ::read(STDIN_FILENO, piece, sizeof piece)) > 0)
    text.append(piece, static_cast<std::size_t>(got));
  if (got < 0)
    throw ApiError(ErrorCode::kNotFound, "no_such_file",
                   std::string("cannot read stdin: ") + std::strerror(errno));
  return text;
}

std::string text_in_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw ApiError(ErrorCode::kNotFound, "no_such_file", "cannot read " + path);
  return text.str();
}

std::string file_text(const std::string& path) {
  std::string text = path == "-" ? stdin_text() : text_in_file(path);
  if (text.size() > kMostFile)
    throw ApiError(ErrorCode::kInvalidArgument, "request_too_large",
                   (path == "-" ? "stdin" : path) + " is larger than 256 KiB");
  return text;
}

// Returns the sandbox's policy as rules. A policy with a name is one rule.
std::vector<std::string> present(Context& at, const std::string& sandbox) {
  const auto box = parsed(at.client.request("GET", sandbox_route(sandbox)));
  const std::string policy = text_of(box, "policy");
  if (policy == "rules") return texts_of(box, "rules");
  if (policy == "off") return {};
  return {policy == "open" ? "default allow" : "@" + policy};
}

// Warns of each added host or address that stays refused: by another rule, or because only the
// operator opens it.
void warn_of_no_effect(Context& at, const std::string& sandbox,
                       const std::vector<std::string>& added) {
  constexpr std::size_t kMostAsked = 8;  // each is a request
  std::size_t asked = 0;
  for (const std::string& rule : added) {
    const auto target = one_host(rule);
    if (!target || asked++ == kMostAsked) continue;
    json::object question{{"sandbox", sandbox}, {"host", target->host}};
    if (target->port) question["port"] = *target->port;
    try {
      const auto answer =
          parsed(at.client.request("POST", std::string(kRoute) + "/try", codec::write(question)));
      if (text_of(answer, "verdict") != "refused" || text_of(answer, "in_the_way").empty())
        continue;
      print_error(printable(rule) +
                  " has no effect: " + for_sandbox(printable(text_of(answer, "advice")), sandbox));
    } catch (const ApiError&) {
      return;  // the policy is set, and a warning is not worth a failure
    }
  }
}

int set(Context& at, const PolicyArgs& args) {
  const std::string& sandbox = args.words.front();
  std::vector<std::string> rules(args.words.begin() + 1, args.words.end());
  if (!args.file.empty()) rules.push_back(file_text(args.file));
  if (rules.empty()) {
    rules = present(at, sandbox);
    for (const std::string& rule : args.remove) {
      const auto same = [&](const std::string& one) { return one == rule || one == "@" + rule; };
      if (std::ranges::none_of(rules, same)) {
        throw ApiError(ErrorCode::kNotFound, "rule_not_found",
                       "'" + rule + "' is no rule of the sandbox's own: `cay policy get " +
                           sandbox + "` lists them");
      }
      std::erase_if(rules, same);
    }
    // In order, what is to be let through stands before what refuses it.
    const auto where = std::ranges::find(rules, "first-match");
    rules.insert(where == rules.end() ? rules.end() : where + 1, args.add.begin(), args.add.end());
  }
  std::string words;
  for (const std::string& rule : rules) words += rule + "\n";
  const std::string body =
      at.client.request("PATCH", sandbox_route(sandbox),
                        codec::write(json::object{{"policy", words.empty() ? "off" : words}}));
  if (at.json) {
    print(body + "\n");
    return kOk;
  }
  warn_of_expressions(parsed(body));
  if (args.file.empty())
    warn_of_no_effect(at, sandbox,
                      args.add.empty()
                          ? std::vector<std::string>(args.words.begin() + 1, args.words.end())
                          : args.add);
  return get(at, sandbox);
}

// Words that are a policy's are one; else they are a sandbox's name.
bool is_policy(Context& at, const std::string& words) {
  if (words.find_first_of(", !@~\n") != std::string::npos) return true;
  const auto answer = parsed(at.client.request("GET", kRoute));
  return std::ranges::any_of(answer.at("items").as_array(), [&](const auto& item) {
    return text_of(item.as_object(), "name") == words;
  });
}

int try_one(Context& at, const std::string& of, const std::string& target) {
  const Target asked = target_of(target);
  json::object question{{"host", asked.host}};
  if (asked.port) question["port"] = *asked.port;
  if (!asked.path.empty()) question["path"] = asked.path;
  question[is_policy(at, of) ? "policy" : "sandbox"] = of;
  const std::string body =
      at.client.request("POST", std::string(kRoute) + "/try", codec::write(question));
  const auto answer = parsed(body);
  const bool allowed = text_of(answer, "verdict") == "allowed";
  if (at.json) {
    print(body + "\n");
    return allowed ? kOk : 1;
  }
  warn_of_expressions(answer);
  const std::string rule = printable(text_of(answer, "rule"));
  const std::string reason = text_of(answer, "reason"),
                    proxy_rule = printable(text_of(answer, "proxy_rule"));
  std::string why = rule.empty() ? allowed ? "no rule matches, and it allows what none matches"
                                           : "no rule matches"
                                 : "by the rule " + rule;
  if (reason == "private_address")
    why = "a special address, which the operator would have to list (network.networks)";
  if (reason == "port_not_in_policy") why = "that host is allowed at other ports";
  const std::string advice = for_sandbox(printable(text_of(answer, "advice")), of),
                    in_the_way = text_of(answer, "in_the_way");
  const bool is_for_nobody = in_the_way == "never_reached" || in_the_way == "own_address";
  if (is_for_nobody) why = advice;  // the operator cannot list it
  if (reason == "names_no_host")
    why = "an address alone shows no name; a connection that shows one is decided by it";
  if (reason == "policy_not_allowed") why = "the operator allows this policy no more";
  if (!proxy_rule.empty())
    why = "by the proxy rule " + proxy_rule + (rule.empty() ? "" : ", beside the rule " + rule);
  if (reason == "fenced")
    why = "by the fence " + proxy_rule +
          ", which lets TLS through that names the host, and plain HTTP never";
  if (reason == "path_not_in_rule") why += ": it has not the path";
  if (reason == "secret_gone") why += ", whose secret was removed";
  print((allowed ? "allowed: " : "refused: ") + why + "\n");
  const std::string note = printable(text_of(answer, "note"));
  if (!note.empty()) print(note + "\n");
  if (!allowed && !advice.empty() && !is_for_nobody) print(advice + "\n");
  const std::string needs = printable(text_of(answer, "needs"));
  if (!allowed && !needs.empty() && question.contains("sandbox")) {
    const std::string preset = printable(text_of(answer, "preset"));
    const std::string add = "cay policy set " + printable(of) + " --add ";
    print("To allow: " + (preset.empty() ? "" : add + preset + ", or for that host alone ") + add +
          shell_quoted(needs) + "\n");
  }
  return allowed ? kOk : 1;
}

// Returns the refused lines that no rule would allow, each once: {"host", "kind", "advice"}.
std::vector<json::object> beyond_rules(const json::object& report) {
  std::vector<json::object> out;
  const auto* items = report.if_contains("items");
  if (items == nullptr || !items->is_array()) return out;
  for (const auto& item : items->get_array()) {
    if (!item.is_object() || text_of(item.get_object(), "in_the_way").empty()) continue;
    const auto& line = item.get_object();
    const std::string host = text_of(line, "host"), port = text_of(line, "port");
    const bool bare = port.empty() || port == "0";
    json::object one{
        {"host",
         bare ? host
              : (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port},
        {"kind", text_of(line, "in_the_way")},
        {"advice", text_of(line, "advice")}};
    if (std::ranges::find(out, one) == out.end()) out.push_back(std::move(one));
  }
  return out;
}

std::string how_to_learn(const std::string& sandbox) {
  return "run it once with open (cay policy set " + printable(sandbox) +
         " open; it counts from the next start), and try again\n";
}

void print_forgotten(const json::object& report) {
  const std::string lines = text_of(report, "forgotten");
  if (!lines.empty() && lines != "0")
    print(lines + " older lines made room: their decisions are not in this\n");
}

// The hosts of its proxy rules.
std::vector<std::string> proxied_hosts(Context& at, const std::string& sandbox) {
  const auto box = parsed(at.client.request("GET", sandbox_route(sandbox)));
  const auto* rules = box.if_contains("proxy");
  std::vector<std::string> out;
  if (rules == nullptr || !rules->is_array() || rules->get_array().empty()) return out;
  std::optional<json::object> secrets;
  for (const auto& item : rules->get_array()) {
    const auto& rule = item.as_object();
    if (text_of(rule, "secret").empty()) continue;  // a fence: its hosts are the policy's
    auto hosts = texts_of(rule, "hosts");
    if (hosts.empty()) {
      if (!secrets) secrets = parsed(at.client.request("GET", "/api/v1/secrets"));
      for (const auto& one : secrets->at("items").as_array()) {
        if (text_of(one.as_object(), "name") == text_of(rule, "secret"))
          hosts = texts_of(one.as_object(), "hosts");
      }
    }
    out.insert(out.end(), hosts.begin(), hosts.end());
  }
  return out;
}

// Judges the sandbox's connections so far by another policy.
int try_as(Context& at, const std::string& sandbox, const std::string& policy) {
  const auto report = parsed(at.client.request("GET", sandbox_route(sandbox) + "/network"));
  json::array items, needed;
  std::vector<Row> rows;
  std::string command = "cay policy set " + printable(sandbox);
  const auto ask = [&](json::object question) {
    question["policy"] = policy;
    return parsed(at.client.request("POST", std::string(kRoute) + "/try", codec::write(question)));
  };
  const auto used = used_of(report, proxied_hosts(at, sandbox));
  if (used.empty())
    ask({{"host", "example.com"}});  // or nobody would look whether there is such a policy
  const bool is_off =
      policy == "off";  // it stands alone, and rules beside it are all that is let through
  if (!is_off) command += " " + shell_quoted(printable(policy));
  for (const Used& one : used) {
    auto answer = ask({{"host", one.host}, {"port", one.port}});
    // An address that the operator has not opened is found by whoever looks the name up: a dry run
    // does not.
    if (one.in_the_way.ends_with("_address"))
      answer = {{"verdict", "refused"}, {"in_the_way", one.in_the_way}, {"advice", one.advice}};
    const std::string verdict = text_of(answer, "verdict"),
                      needs = verdict == "allowed" ? "" : text_of(answer, "needs"),
                      advice = text_of(answer, "advice");
    rows.push_back(
        {printable(one.text()), std::to_string(one.count), verdict,
         needs.empty() ? for_sandbox(printable(advice), sandbox) : "needs " + printable(needs)});
    items.push_back(json::object{{"host", one.host},
                                 {"port", one.port},
                                 {"count", one.count},
                                 {"verdict", verdict},
                                 {"needs", needs},
                                 {"in_the_way", text_of(answer, "in_the_way")},
                                 {"advice", advice}});
    if (!needs.empty() && std::ranges::find(needed, json::value(needs)) == needed.end()) {
      needed.emplace_back(needs);
      command += " " + shell_quoted(printable(needs));
    }
  }
  if (at.json) {
    print(codec::write(json::object{{"policy", policy},
                                    {"items", std::move(items)},
                                    {"needed", std::move(needed)},
                                    {"forgotten", report.at("forgotten")}}) +
          "\n");
    return kOk;
  }
  if (rows.empty()) {
    const char* const nothing =
        used_of(report, {}).empty()
            ? "it used nothing that a policy decides\n"
            : "it used nothing but hosts of its proxy rules, which need no policy\n";
    print(text_of(report, "policy") == "off"
              ? "nothing is recorded under off: " + how_to_learn(sandbox)
              : nothing);
    return kOk;
  }
  print(table({"HOST", "COUNT", "BY " + printable(policy), "WHY"}, rows));
  print(needed.empty()
            ? "\nNo rule is missing.\n"
            : (is_off ? "\nAll that it lacks: " : "\nThat policy and all that it lacks: ") +
                  command + "\n");
  print_forgotten(report);
  return kOk;
}

// Prints the rules that the refusals so far needed. Without refusals it prints the rules for the
// connections so far.
int try_all(Context& at, const std::string& sandbox) {
  const std::string body = at.client.request("GET", sandbox_route(sandbox) + "/network");
  const auto answer = parsed(body);
  const auto needed = texts_of(answer, "needed");
  const bool open = lets_all_through(answer);
  std::vector<Used> used;
  if (open) used = used_of(answer, proxied_hosts(at, sandbox));
  std::erase_if(used, [](const Used& one) { return !one.passes; });
  if (at.json) {
    json::array rules;
    for (const std::string& rule : needed) rules.emplace_back(rule);
    json::array others;
    for (const json::object& one : beyond_rules(answer)) others.emplace_back(one);
    json::object out{{"needed", std::move(rules)}, {"in_the_way", std::move(others)}};
    if (open) {
      json::array had;
      for (const Used& one : used) had.emplace_back(one.text());
      out["used"] = std::move(had);
    }
    print(codec::write(out) + "\n");
    return kOk;
  }
  const bool off = text_of(answer, "policy") == "off" && answer.at("items").as_array().empty();
  if (off) print("nothing is recorded under off: " + how_to_learn(sandbox));
  if (needed.empty() && !off) print("nothing was refused that a rule would let through\n");
  std::string command = "cay policy set " + printable(sandbox);
  for (const std::string& rule : needed) {
    print(printable(rule) + "\n");
    command += " --add " + shell_quoted(printable(rule));
  }
  if (!needed.empty()) print("\nTo allow all of it: " + command + "\n");
  const auto others = beyond_rules(answer);
  if (!others.empty()) print("\nNo rule lets through:\n");
  for (const json::object& one : others) {
    print("  " + printable(text_of(one, "host")) + "  " + text_of(one, "kind") + ": " +
          for_sandbox(printable(text_of(one, "advice")), sandbox) + "\n");
  }
  if (!open) return kOk;
  if (used.empty()) {
    const bool proxied = std::ranges::any_of(used_of(answer, {}), &Used::passes);
    print(std::string("its policy lets all through, and it used nothing so far") +
          (proxied ? " but hosts of its proxy rules, which need no policy\n" : "\n"));
    return kOk;
  }
  print("\nIts policy lets all through, and it used " + std::to_string(used.size()) +
        (used.size() == 1 ? " host: the rule for it:\n" : " hosts: the rules for them:\n"));
  command = "cay policy set " + printable(sandbox);
  for (const Used& one : used) {
    print(printable(one.text()) + "\n");
    command += " " + shell_quoted(printable(one.text()));
  }
  print("\nTo let these through alone: " + command +
        "\nWhat a policy that has a name lacks of it: cay policy try " + printable(sandbox) +
        " --as packages\n");
  print_forgotten(answer);
  return kOk;
}

int policy_command(Context& at, const PolicyArgs& args) {
  if (args.action == "ls") return list(at);
  if (args.action == "show") return show(at, args.words.front());
  if (args.action == "get") return get(at, args.words.front());
  if (args.action == "set") return set(at, args);
  if (!args.as.empty()) return try_as(at, args.words.front(), args.as);
  return args.words.size() == 1 ? try_all(at, args.words.front())
                                : try_one(at, args.words[0], args.words[1]);
}

}  // namespace

Command policy_entry() {
  const auto args = std::make_shared<PolicyArgs>();
  return {
      .name = "policy",
      .help = "What sandboxes may reach: policies that have names, and rules of a sandbox's own",
      .examples =
          "  cay policy ls                                   the policies that have names\n"
          "  cay policy show pip                             the rules of one\n"
          "  cay policy get box                              what a sandbox has\n"
          "  cay policy set box pip,git,api.example.com      in place of what it has; a running "
          "sandbox goes by it at once\n"
          "  cay policy set box --add '*.example.com:443' --remove git\n"
          "  cay policy set box open '!*.ads.example' '!10.0.0.0/8'   everything else; cay "
          "policy set box off: nothing\n"
          "  cay policy set box '~^api-[0-9]{1,3}\\.example\\.com$' pip\n"
          "  cay policy set box --file rules.txt             one rule a line, # begins a "
          "comment, also behind a rule\n"
          "  cay policy try box                              the rules that would have let "
          "through what was refused\n"
          "  cay policy try box --as pip,git                 what it used, allowed or refused, "
          "as another policy would have it; what that lacks\n"
          "  cay policy try box api.example.com:8443         whether, and by which rule; a "
          "policy in the place of the sandbox, too\n\n"
          "Not known yet what it needs: let it run once by open, then `cay policy try box` "
          "lists what it used, as rules. Under off nothing is recorded.\n"
          "A rule is example.com, *.example.com, ~regex, 192.0.2.7, 192.0.2.0/24 or a policy's "
          "name; with :443, :8000-8100 or :* for ports, and ! before\n"
          "it to refuse. A host without ports is the web of it, 443 by TLS and 80 by HTTP. Case "
          "does not matter. A regex has to match the whole name:\n"
          "'!~.*ads.*' refuses ads.example.com, and '!~ads' does not. What refuses counts "
          "before what allows; with first-match among the rules they count in\n"
          "order (cay policy set box first-match api.example.com '!*.example.com' open). Rules "
          "name hosts: paths are given by proxy\n"
          "rules (cay proxy). Rules are parted by commas or by themselves; a comma within {}, "
          "[] or () of a regex is part of it.\n",
      .options =
          [args](Options& to) {
            to.choice("ACTION", args->action, {"ls", "show", "get", "set", "try"},
                      "ls, show, get, set or try", Options::Need::kRequired);
            to.arguments("WORDS", args->words, "A sandbox (or a policy), then rules (or a host)");
            to.texts("--add", args->add, "Let this through, too; repeatable");
            to.texts("--remove", args->remove, "Take this rule away; repeatable");
            to.text("--file", args->file, "Take the rules from a file, one a line ('-' for stdin)");
            to.text("--as", args->as,
                    "Of try: this policy, or rules, in place of what the sandbox has",
                    no_empty_policy);
          },
      .args = [args](const Line&) -> std::any {
        const std::size_t least = args->action == "ls" ? 0 : 1;
        const std::size_t most = args->action == "ls"    ? 0
                                 : args->action == "set" ? 1024
                                 : args->action == "try" ? 2
                                                         : 1;
        if (args->words.size() < least)
          wrong("policy " + args->action, args->action == "show"
                                              ? "needs a policy's name: `cay policy ls` lists them"
                                              : "needs a sandbox: `cay ls` lists them");
        if (args->words.size() > most)
          wrong("policy " + args->action, "takes no '" + args->words[most] + "'");
        if (!args->as.empty() && (args->action != "try" || args->words.size() != 1))
          wrong("--as", "goes with `cay policy try SANDBOX`");
        const bool edits = !args->add.empty() || !args->remove.empty();
        const bool replaces = args->words.size() > 1 || !args->file.empty();
        if (args->action != "set" && (edits || !args->file.empty()))
          wrong("policy " + args->action, "takes no --add, --remove or --file: they are of `set`");
        if (args->action == "set" && edits == replaces)
          wrong("policy set",
                "needs either rules (cay policy set box pip,api.example.com), or --add and "
                "--remove; off lets nothing through");
        return *args;
      },
      .run = runs(policy_command)};
}

}  // namespace cay::cli
