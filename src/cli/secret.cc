// cay secret, cay proxy: secrets that are kept, and what sandboxes may do with them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "base/wiped_memory.h"
#include "cli/answers.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/known_api.h"
#include "cli/output.h"
#include "cli/proxy_rules.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "http/client.h"
#include "model/proxy.h"
#include "model/sealed_box.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr const char* kSecrets = "/api/v1/secrets";

std::string joined(const json::object& from, const char* name) {
  std::string out;
  const auto* list = from.if_contains(name);
  if (list == nullptr || !list->is_array()) return out;
  for (const auto& one : list->get_array())
    out += (out.empty() ? "" : " ") + std::string(one.as_string());
  return out;
}

[[noreturn]] void fail_with(const Error& error) {
  throw ApiError(ErrorCode::kInvalidArgument, error.reason, error.message);
}

// Reads from a file or stdin, without one line break at its end. The value is nowhere but in the
// result.
Wiped read_value(const std::string& file) {
  const bool from_stdin = file.empty() || file == "-";
  if (from_stdin && ::isatty(0) == 1)
    print_error(
        "the value is read from stdin, and shown as you type it: --from-file FILE reads a file");
  const UniqueFd opened(from_stdin ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from_stdin && !opened)
    throw ApiError(ErrorCode::kInvalidArgument, "bad_file", file + ": " + std::strerror(errno));
  constexpr std::size_t kMostEnd = 3;  // a line break, and a byte more: that one is too long
  Wiped out(std::string(kMostSecretBytes + kMostEnd, '\0'));
  std::string& bytes = out.bytes();
  std::size_t used = 0;
  ssize_t got = 0;
  while (used < bytes.size() && (got = ::read(from_stdin ? 0 : opened.get(), bytes.data() + used,
                                              bytes.size() - used)) > 0)
    used += static_cast<std::size_t>(got);
  if (got < 0)
    throw ApiError(ErrorCode::kInvalidArgument, "bad_file",
                   (from_stdin ? "stdin" : file) + ": " + std::strerror(errno));
  bytes.resize(used);
  if (bytes.ends_with('\n')) bytes.pop_back();
  if (bytes.ends_with('\r')) bytes.pop_back();
  if (auto fine = check_secret_value(out.view()); !fine) fail_with(fine.error());
  return out;
}

bool is_kept(Context& at, const std::string& secret) {
  const auto all = parsed(at.client.request("GET", kSecrets));
  return std::ranges::any_of(all.at("items").as_array(), [&](const json::value& one) {
    return text_of(one.as_object(), "name") == secret;
  });
}

// The value leaves this program closed: the daemon passes it on unread.
int set(Context& at, const SecretArgs& args) {
  const Wiped value = read_value(args.file);
  const auto key = codec::from_base64(
      text_of(parsed(at.client.request("GET", "/api/v1/vault/key")), "public_key"));
  auto box = close_box(key.value_or(""), args.name, value.view());
  if (!box) fail_with(box.error());
  json::object ask{{"sealed", codec::base64(*box)}};
  std::vector<std::string> wanted = args.hosts;
  // Only of a new one: another value goes where the old one went.
  const KnownApi* const api = known_api(args.name);
  if (wanted.empty() && api != nullptr && !is_kept(at, args.name)) wanted = api->hosts;
  if (!wanted.empty()) {
    json::array hosts;
    for (const std::string& host : wanted) hosts.emplace_back(host);
    ask["hosts"] = std::move(hosts);
  }
  const std::string answer = at.client.request(
      "PUT", std::string(kSecrets) + "/" + http::encode_segment(args.name), codec::write(ask));
  if (at.json) {
    print(answer + "\n");
    return kOk;
  }
  const auto info = parsed(answer);
  print(args.name + ": version " + text_of(info, "version") + ", for " + joined(info, "hosts") +
        "\n");
  return kOk;
}

int list(Context& at) {
  const std::string answer = at.client.request("GET", kSecrets);
  const auto body = parsed(answer);
  if (at.json) {
    print(items_as_json(body));
    return kOk;
  }
  std::vector<Row> rows;
  for (const auto& item : body.at("items").as_array()) {
    const auto& one = item.as_object();
    rows.push_back({text_of(one, "name"), text_of(one, "version"), joined(one, "hosts"),
                    text_of(one, "updated_at"), text_of(one, "created_by")});
  }
  print(table({"NAME", "VERSION", "HOSTS", "SINCE", "BY"}, rows));
  return kOk;
}

// The variables of a rule: where it names none, those that the daemon gives (model/proxy.h,
// proxy_env).
json::object env_of(const json::object& rule) {
  const auto* named = rule.if_contains("env");
  if (named != nullptr && named->is_object() && !named->get_object().empty())
    return named->get_object();
  ProxyRule one;
  one.name = text_of(rule, "name");
  one.way = proxy_way_from(text_of(rule, "way")).value_or(ProxyWay::kHeaders);
  one.token = "${TOKEN}";
  json::object out;
  for (const auto& [name, value] : proxy_env({one})) {
    if (value == one.token) out[name] = value;
    if (name.ends_with("_BASE_URL")) out[name] = "${BASE_URL}";
  }
  return out;
}

std::string names_in(const json::object& env) {
  std::string out;
  for (const auto& [name, value] : env) out += (out.empty() ? "" : " ") + std::string(name);
  return out.empty() ? "-" : out;
}

// Prints the users of a secret that was removed.
void print_users(const std::string& secret, const json::object& answer) {
  const auto* users = answer.if_contains("users");
  if (users == nullptr) return;
  print(secret + " is gone; until it is set again these rules refuse what would go by them:\n");
  std::vector<Row> rows;
  for (const auto& item : users->as_array())
    rows.push_back({text_of(item.as_object(), "sandbox"), joined(item.as_object(), "rules")});
  print(table({"SANDBOX", "RULES"}, rows));
}

int secret_command(Context& at, const SecretArgs& args) {
  if (args.action == "set") return set(at, args);
  if (args.action == "ls") return list(at);
  std::string answer;
  if (args.action == "rm") {
    answer =
        at.client.request("DELETE", std::string(kSecrets) + "/" + http::encode_segment(args.name));
    if (answer.empty()) answer = "{}";
    if (!at.json) print_users(args.name, parsed(answer));
  } else {
    answer = at.client.request("POST", "/api/v1/vault/rotate", "{}");
    if (!at.json)
      print(text_of(parsed(answer), "secrets") +
            " secrets are sealed by new keys; the old ones are forgotten\n");
  }
  if (at.json) print(answer + "\n");
  return kOk;
}

int proxy_command(Context& at, const ProxyArgs& args) {
  const std::string path = "/api/v1/sandboxes/" + http::encode_segment(args.sandbox);
  std::string answer;
  if (args.clear || !args.file.empty() || !args.rules.empty()) {
    RuleArgs all = args.rules;
    if (!args.file.empty()) all.rules.insert(all.rules.begin(), args.file);
    json::array rules = rules_of(all);
    answer =
        at.client.request("PATCH", path, codec::write(json::object{{"proxy", std::move(rules)}}));
  } else {
    answer = at.client.request("GET", path);
  }
  auto body = parsed(answer);
  auto& rules = body.at("proxy").as_array();
  for (auto& item : rules) item.as_object()["env"] = env_of(item.as_object());
  if (at.json) {
    print(codec::write(rules) + "\n");
    return kOk;
  }
  std::vector<Row> rows;
  for (const auto& item : rules) {
    const auto& one = item.as_object();
    const std::string secret = text_of(one, "secret"), hosts = joined(one, "hosts"),
                      methods = joined(one, "methods"), paths = joined(one, "paths");
    rows.push_back({text_of(one, "name"),
                    secret.empty() ? "-" : secret + (one.contains("gone") ? " (gone)" : ""),
                    secret.empty() ? "fence" : text_of(one, "way"),
                    hosts.empty() ? "the secret's" : hosts, methods.empty() ? "all" : methods,
                    paths.empty() ? "all" : paths, printable(names_in(one.at("env").as_object()))});
  }
  print(table({"NAME", "SECRET", "WAY", "HOSTS", "METHODS", "PATHS", "VARIABLES"}, rows));
  return kOk;
}

}  // namespace

Command secret_entry() {
  const auto secret = std::make_shared<SecretArgs>();
  return {
      .name = "secret",
      .help = "Secrets that sandboxes use and never see: set, ls, rm, rotate-key",
      .examples =
          "  cay secret set openai < key.txt               an API that Cay knows: its hosts\n"
          "  cay secret set mine --host api.example.com < key.txt\n"
          "  cay secret set openai --from-file new.txt     another value; hosts stay, sandboxes "
          "use it at once\n"
          "  cay secret ls\n  cay secret rm openai\n"
          "  cay secret rotate-key                         seals all by new keys\n\n"
          "A value can be replaced and removed, never read back. It is sent to the hosts given "
          "here alone.\n",
      .options =
          [secret](Options& to) {
            to.choice("ACTION", secret->action, {"set", "ls", "rm", "rotate-key"},
                      "set, ls, rm or rotate-key", Options::Need::kRequired);
            to.text("NAME", secret->name, "The secret");
            to.texts(
                "--host", secret->hosts,
                "Where it may be sent, as api.example.com, *.example.com or host:8443; repeatable");
            to.text("--from-file", secret->file, "Read the value from this file (default: stdin)");
          },
      .args = [secret](const Line&) -> std::any {
        const bool named = secret->action == "set" || secret->action == "rm";
        if (named && secret->name.empty()) missing("NAME");
        if (!named && !secret->name.empty()) wrong("NAME", "does not go with " + secret->action);
        if (secret->action != "set" && (!secret->file.empty() || !secret->hosts.empty()))
          wrong("--host and --from-file", "go with set");
        return *secret;
      },
      .run = runs(secret_command)};
}

Command proxy_entry() {
  const auto proxy = std::make_shared<ProxyArgs>();
  return {
      .name = "proxy",
      .help = "What a sandbox may do with secrets: shown, or replaced",
      .examples =
          "  cay proxy box                                 the rules that it has\n"
          "  cay proxy box --use openai                    OPENAI_BASE_URL and OPENAI_API_KEY "
          "in its commands\n"
          "  cay proxy box --use work=anthropic            the same of an API for a secret of "
          "another name\n"
          "  cay proxy box --use openai=headers            an API that Cay knows, in another way\n"
          "  cay proxy box --use gh=headers --use npm=placeholder\n"
          "  cay proxy box --use gh=headers --method GET,POST --path '/repos/me/**'\n"
          "  cay proxy box --fence api.example.com --method GET   no secret: only reading, of "
          "what the policy lets through\n"
          "  cay proxy box --rules rules.json              every member of a rule (docs/api.md)\n"
          "  cay proxy box --clear\n\n"
          "It counts at once. base_url: a client gets another URL; headers: requests to the "
          "secret's hosts get\n"
          "Authorization, in place of any key that the client sent; placeholder: what stands in "
          "for the value becomes the\n"
          "value on its way out. For a secret that is named after an API which Cay knows (" +
          known_apis() +
          "), its hosts,\n"
          "headers and variables are known in every way; github takes no base_url. To a host of "
          "a rule that names methods\n"
          "or paths nothing else goes; * is within a segment of a path, ** is anything.\n",
      .options =
          [proxy](Options& to) {
            to.needed("SANDBOX", proxy->sandbox, "Id or name");
            declare_rules(to, proxy->rules);
            to.text("--rules", proxy->file, "A file with a JSON list of rules, '-' for stdin");
            to.flag("--clear", proxy->clear, "No rules any more");
          },
      .args = [proxy](const Line&) -> std::any {
        check(proxy->rules);
        if (proxy->clear && (!proxy->file.empty() || !proxy->rules.empty()))
          wrong("--clear", "goes with no rules");
        return *proxy;
      },
      .run = runs(proxy_command)};
}

}  // namespace cay::cli
