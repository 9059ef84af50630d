#include "cli/parse_rules.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/known_api.h"

namespace cay::cli {

void rule_options(CLI::App& sub, RuleArgs& to) {
  sub.add_option(
         "--use", to.uses,
         "SECRET, SECRET=WAY (base_url, headers, placeholder) or SECRET=API (" + known_apis() +
             "; what it is named after, if nothing is said): use it without seeing it; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option(
         "--fence", to.fences,
         "HOST, without a secret: of what the policy lets through to it only --method and --path; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option(
         "--method", to.methods,
         "Of each --use and --fence of the line: these methods alone, as GET,POST; rules that differ: --proxy")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option(
         "--path", to.paths,
         "Of each --use and --fence of the line: these paths alone, as '/v1/**'; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option(
         "--proxy", to.rules,
         "A rule as JSON (docs/api.md), a list of them, or a file with one ('-' for stdin); repeatable")
      ->take_all()
      ->allow_extra_args(false);
}

void check(const RuleArgs& args) {
  const bool narrows = !args.methods.empty() || !args.paths.empty();
  if (narrows && args.uses.empty() && args.fences.empty())
    throw CLI::ValidationError("--method and --path", "go with --use or --fence");
  if (!narrows && !args.fences.empty())
    throw CLI::ValidationError("--fence", "needs --method or --path: what is let through");
}

std::string no_empty_policy(const std::string& words) {
  return words.find_first_not_of(" \t\r\n,") == std::string::npos
             ? "must not be empty: write off to let nothing through, or leave it out"
             : std::string();
}

CommandLine<NetArgs> net_command_line() {
  auto net = std::make_shared<NetArgs>();
  return {
      "net", "What a sandbox tried to reach: allowed and refused, and what would allow it",
      "  cay net box                          counted by host, port and verdict, the latest last\n"
      "  cay net box --follow                 each decision as it is made, from the oldest that is kept; Ctrl-C ends it\n"
      "  cay net box --follow --after now --json   one JSON object a line, from now on\n"
      "  cay net box --follow --after 1200    what came behind number 1200\n"
      "  cay net box --policy packages        another policy, at once: see `cay policy`\n\n"
      "Of a stopped sandbox too: nothing is woken. `cay policy try box` lists the rules that would have let through what was refused.\n",
      [net] {
        if (!net->after.empty() && !net->follow)
          throw CLI::ValidationError(
              "--after", "goes with --follow: without, what was tried is counted by kind");
        if (!net->policy.empty() && net->follow)
          throw CLI::ValidationError(
              "--policy", "and --follow do not go together: `cay policy set` changes it meanwhile");
        return *net;
      },
      [net](CLI::App& sub) {
        sub.add_flag("-f,--follow", net->follow, "Decision by decision, and wait for what comes");
        sub.add_option(
            "--after", net->after,
            "With --follow: the number of the last decision seen, or now (default: all that are kept)");
        sub.add_option("--policy", net->policy,
                       "Change what it may reach: a policy (`cay policy ls`), or rules")
            ->check(no_empty_policy);
        sub.add_option("SANDBOX", net->sandbox, "Id or name")->required();
      }};
}

CommandLine<PolicyArgs> policy_command_line() {
  auto args = std::make_shared<PolicyArgs>();
  return {
      "policy", "What sandboxes may reach: policies that have names, and rules of a sandbox's own",
      "  cay policy ls                                   the policies that have names\n"
      "  cay policy show pip                             the rules of one\n"
      "  cay policy get box                              what a sandbox has\n"
      "  cay policy set box pip,git,api.example.com      in place of what it has; a running sandbox goes by it at once\n"
      "  cay policy set box --add '*.example.com:443' --remove git\n"
      "  cay policy set box open '!*.ads.example' '!10.0.0.0/8'   everything else; cay policy set box off: nothing\n"
      "  cay policy set box '~^api-[0-9]{1,3}\\.example\\.com$' pip\n"
      "  cay policy set box --file rules.txt             one rule a line, # begins a comment, also behind a rule\n"
      "  cay policy try box                              the rules that would have let through what was refused\n"
      "  cay policy try box --as pip,git                 what it used, allowed or refused, as another policy would have it; what that lacks\n"
      "  cay policy try box api.example.com:8443         whether, and by which rule; a policy in the place of the sandbox, too\n\n"
      "Not known yet what it needs: let it run once by open, then `cay policy try box` lists what it used, as rules. Under off nothing is recorded.\n"
      "A rule is example.com, *.example.com, ~regex, 192.0.2.7, 192.0.2.0/24 or a policy's name; with :443, :8000-8100 or :* for ports, and ! before\n"
      "it to refuse. A host without ports is the web of it, 443 by TLS and 80 by HTTP. Case does not matter. A regex has to match the whole name:\n"
      "'!~.*ads.*' refuses ads.example.com, and '!~ads' does not. What refuses counts before what allows; with first-match among the rules they count in\n"
      "order (cay policy set box first-match api.example.com '!*.example.com' open). Rules name hosts: paths are given by proxy\n"
      "rules (cay proxy). Rules are parted by commas or by themselves; a comma within {}, [] or () of a regex is part of it.\n",
      [args] {
        const std::size_t least = args->action == "ls" ? 0 : 1;
        const std::size_t most = args->action == "ls"    ? 0
                                 : args->action == "set" ? 1024
                                 : args->action == "try" ? 2
                                                         : 1;
        if (args->words.size() < least)
          throw CLI::ValidationError("policy " + args->action,
                                     args->action == "show"
                                         ? "needs a policy's name: `cay policy ls` lists them"
                                         : "needs a sandbox: `cay ls` lists them");
        if (args->words.size() > most)
          throw CLI::ValidationError("policy " + args->action,
                                     "takes no '" + args->words[most] + "'");
        if (!args->as.empty() && (args->action != "try" || args->words.size() != 1))
          throw CLI::ValidationError("--as", "goes with `cay policy try SANDBOX`");
        const bool edits = !args->add.empty() || !args->remove.empty();
        const bool replaces = args->words.size() > 1 || !args->file.empty();
        if (args->action != "set" && (edits || !args->file.empty()))
          throw CLI::ValidationError("policy " + args->action,
                                     "takes no --add, --remove or --file: they are of `set`");
        if (args->action == "set" && edits == replaces)
          throw CLI::ValidationError(
              "policy set",
              "needs either rules (cay policy set box pip,api.example.com), or --add and --remove; off lets nothing through");
        return *args;
      },
      [args](CLI::App& sub) {
        sub.add_option("ACTION", args->action, "ls, show, get, set or try")
            ->required()
            ->check(CLI::IsMember({"ls", "show", "get", "set", "try"}));
        sub.add_option("WORDS", args->words, "A sandbox (or a policy), then rules (or a host)");
        sub.add_option("--add", args->add, "Let this through, too; repeatable")
            ->take_all()
            ->allow_extra_args(false);
        sub.add_option("--remove", args->remove, "Take this rule away; repeatable")
            ->take_all()
            ->allow_extra_args(false);
        sub.add_option("--file", args->file,
                       "Take the rules from a file, one a line ('-' for stdin)");
        sub.add_option("--as", args->as,
                       "Of try: this policy, or rules, in place of what the sandbox has")
            ->check(no_empty_policy);
      }};
}

CommandLine<SecretArgs> secret_command_line() {
  auto secret = std::make_shared<SecretArgs>();
  return {
      "secret", "Secrets that sandboxes use and never see: set, ls, rm, rotate-key",
      "  cay secret set openai < key.txt               an API that Cay knows: its hosts\n"
      "  cay secret set mine --host api.example.com < key.txt\n"
      "  cay secret set openai --from-file new.txt     another value; hosts stay, sandboxes use it at once\n"
      "  cay secret ls\n  cay secret rm openai\n"
      "  cay secret rotate-key                         seals all by new keys\n\n"
      "A value can be replaced and removed, never read back. It is sent to the hosts given here alone.\n",
      [secret] {
        const bool named = secret->action == "set" || secret->action == "rm";
        if (named && secret->name.empty()) throw CLI::RequiredError("NAME");
        if (!named && !secret->name.empty())
          throw CLI::ValidationError("NAME", "does not go with " + secret->action);
        if (secret->action != "set" && (!secret->file.empty() || !secret->hosts.empty()))
          throw CLI::ValidationError("--host and --from-file", "go with set");
        return *secret;
      },
      [secret](CLI::App& sub) {
        sub.add_option("ACTION", secret->action, "set, ls, rm or rotate-key")
            ->required()
            ->check(CLI::IsMember({"set", "ls", "rm", "rotate-key"}));
        sub.add_option("NAME", secret->name, "The secret");
        sub.add_option(
               "--host", secret->hosts,
               "Where it may be sent, as api.example.com, *.example.com or host:8443; repeatable")
            ->take_all()
            ->allow_extra_args(false);
        sub.add_option("--from-file", secret->file,
                       "Read the value from this file (default: stdin)");
      }};
}

CommandLine<ProxyArgs> proxy_command_line() {
  auto proxy = std::make_shared<ProxyArgs>();
  return {
      "proxy", "What a sandbox may do with secrets: shown, or replaced",
      "  cay proxy box                                 the rules that it has\n"
      "  cay proxy box --use openai                    OPENAI_BASE_URL and OPENAI_API_KEY in its commands\n"
      "  cay proxy box --use work=anthropic            the same of an API for a secret of another name\n"
      "  cay proxy box --use openai=headers            an API that Cay knows, in another way\n"
      "  cay proxy box --use gh=headers --use npm=placeholder\n"
      "  cay proxy box --use gh=headers --method GET,POST --path '/repos/me/**'\n"
      "  cay proxy box --fence api.example.com --method GET   no secret: only reading, of what the policy lets through\n"
      "  cay proxy box --rules rules.json              all that a rule can say (docs/api.md)\n"
      "  cay proxy box --clear\n\n"
      "It counts at once. base_url: a client is told another URL; headers: requests to the secret's hosts get\n"
      "Authorization, in place of any key that the client sent; placeholder: what stands in for the value becomes the\n"
      "value on its way out. For a secret that is named after an API which Cay knows (" +
          known_apis() +
          "), its hosts,\n"
          "headers and variables are known in every way; github takes no base_url. To a host of a rule that names methods\n"
          "or paths nothing else goes; * is within a segment of a path, ** is anything.\n",
      [proxy] {
        check(proxy->rules);
        if (proxy->clear && (!proxy->file.empty() || !proxy->rules.empty()))
          throw CLI::ValidationError("--clear", "goes with no rules");
        return *proxy;
      },
      [proxy](CLI::App& sub) {
        sub.add_option("SANDBOX", proxy->sandbox, "Id or name")->required();
        rule_options(sub, proxy->rules);
        sub.add_option("--rules", proxy->file, "A file with a JSON list of rules, '-' for stdin");
        sub.add_flag("--clear", proxy->clear, "No rules any more");
      }};
}

}  // namespace cay::cli
