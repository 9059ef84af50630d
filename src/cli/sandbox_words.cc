#include "cli/sandbox_words.h"

#include <algorithm>
#include <cmath>

#include "cli/known_api.h"
#include "cli/values.h"

namespace cay::cli {

std::int64_t must_seconds(const std::string& text, std::string_view option) {
  return static_cast<std::int64_t>(std::ceil(must(parse_duration(text), option)));
}

std::uint64_t must_some(const std::string& text, std::string_view option) {
  const std::uint64_t bytes = must(parse_size(text), option);
  if (bytes == 0) wrong(option, "must be more than 0: leave it out for the default");
  return bytes;
}

void TimerWords::declare(Options& to) {
  to.text("--ttl", ttl_, "Stop it after so long without use, as 10m; or never");
  to.text("--delete-after-stop", gone_, "Remove it so long after it stopped, as 7d; or never");
  to.text("--lifetime", lifetime_, "Remove it so long after its creation, as 8h; or never");
}

void TimerWords::set(std::optional<std::int64_t>& to, const std::string& text,
                     std::string_view option) {
  if (!text.empty()) to = must(parse_timer(text), option);
}

void CreateWords::declare(Options& to, sdk::CreateOptions& sandbox, std::string& image,
                          RuleArgs& rules) {
  to.text("--name", sandbox.name, "Name it (default: one is made up)", [](const std::string& text) {
    return text.empty() ? std::string("must not be empty: leave it out, and a name is made up")
                        : std::string();
  });
  to.text("--image", image,
          "Boot from this image, as python:3.12, or snapshot; an image that is not here is pulled",
          [](const std::string& text) {
            return text.empty() ? std::string("must not be empty: leave it out for the host's own")
                                : std::string();
          });
  to.text("--snapshot", sandbox.snapshot,
          "Boot from this snapshot, and pull nothing (default: default)");
  to.texts("--label", labels_, "KEY=VALUE; repeatable");
  to.text("--cpus", cpus_, "CPUs, as 2 or 0.5");
  to.text("--memory", memory_, "Memory, as 512MiB or 2GiB");
  to.text("--disk", disk_, "Writable disk, as 8GiB");
  to.text("--pids", pids_, "Processes and threads, as 200");
  to.text("--policy", sandbox.policy,
          "What it may reach: off (nothing), packages (registries, archives, Git hosts), open, "
          "another policy (`cay policy ls`), or rules as 'pip,api.example.com' (default: the "
          "daemon's)",
          no_empty_policy);
  to.flag("--keep-awake", keep_awake_, "What runs in it is use, though nobody reads its output");
  to.flag("--record-programs", sandbox.record_programs,
          "Keep a record of every process: see `cay programs`");
  to.text("--profile", sandbox.profile,
          "How it is held: strict (nothing gains privilege, fewer system calls), default, or "
          "nested (containers inside, where the operator allows it)",
          [](const std::string& text) {
            return text.empty()
                       ? std::string("must not be empty: leave it out for the daemon's default")
                       : std::string();
          });
  to.texts("--tmpfs", tmpfs_,
           "A file system in memory at PATH, as /tmp or /tmp:size=1GiB (default size: "
           "half of the memory); repeatable");
  to.texts("--volume", volumes_,
           "Mount this volume (`cay volume`), as NAME:/PATH; NAME:/PATH:ro only reads, "
           "NAME:/PATH:shared writes beside others; repeatable");
  declare_paths(to, sandbox.read_only_paths, sandbox.hidden_paths);
  declare_rules(to, rules);
  timers_.declare(to);
}

void CreateWords::fill(sdk::CreateOptions& sandbox, const std::string& image,
                       const RuleArgs& rules) const {
  check(rules);
  if (!image.empty() && !sandbox.snapshot.empty())
    wrong("--snapshot", "and an image do not go together: a sandbox boots from one");
  sandbox.labels = must(parse_pairs(labels_, "label"), "--label");
  if (!cpus_.empty()) sandbox.limits.cpu_millicores = must(parse_cpus(cpus_), "--cpus");
  if (!memory_.empty()) sandbox.limits.memory_bytes = must_some(memory_, "--memory");
  if (!disk_.empty()) sandbox.limits.disk_bytes = must_some(disk_, "--disk");
  if (!pids_.empty()) sandbox.limits.pids = must(parse_count(pids_), "--pids");
  for (const std::string& text : tmpfs_) {
    const auto [path, bytes] = must(parse_tmpfs(text), "--tmpfs");
    if (!sandbox.tmpfs.emplace(path, bytes).second) wrong("--tmpfs", path + " is named twice");
  }
  for (const std::string& text : volumes_)
    sandbox.volumes.push_back(must(parse_volume(text), "--volume"));
  timers_.fill(sandbox);
  if (keep_awake_) sandbox.commands_keep_awake = true;
}

void ExecWords::declare(Options& to, ExecArgs& exec) {
  to.flag("-i,--interactive", exec.interactive, "Pass stdin on, with its end");
  to.flag("-t,--tty", exec.terminal, "Give it a terminal");
  to.flag("-d,--detach", exec.detach, "Print the command's id and leave it running");
  to.texts("-e,--env", env_, "KEY=VALUE, or KEY to pass yours on; repeatable");
  to.text("-w,--workdir", exec.command.cwd, "Directory to run in");
  to.text("--timeout", timeout_,
          "Kill it after so long, as 30 or 5m (default: never); exit code 124");
  to.text("--keep", keep_,
          "Keep so much of each output stream, as 10MiB: its first and last halves (default: "
          "4GiB)");
}

void ExecWords::declare_command(Options& to) {
  to.arguments("COMMAND", command_, "Program and arguments, behind --");
}

std::string ExecWords::take_image(const Line& line) {
  if (!line.has_dashes || command_.empty()) return {};
  if (command_.size() > 1)
    wrong("COMMAND", "put the whole command behind --: one word before it is the image");
  std::string image = std::move(command_.front());
  command_.clear();
  if (image.empty()) wrong("IMAGE", "must not be empty");
  return image;
}

void ExecWords::fill(ExecArgs& exec, const Line& line, const std::string& example) const {
  exec.command.env = must(parse_env(env_), "--env");
  exec.command.timeout_s = timeout_.empty() ? 0 : must(parse_duration(timeout_), "--timeout");
  if (!keep_.empty()) exec.command.output_limit_bytes = must_some(keep_, "--keep");
  if (line.has_dashes && !command_.empty()) wrong("COMMAND", "put the whole command behind --");
  exec.argv = line.has_dashes ? line.after : command_;
  if (exec.argv.empty() && !example.empty()) wrong("COMMAND", "is missing, as in: " + example);
  if (line.json && exec.terminal)
    wrong("--json", "and -t do not go together: a terminal has one stream");
  if (exec.detach && (exec.interactive || exec.terminal))
    wrong("-d", "goes with neither -i nor -t");
}

void declare_rules(Options& to, RuleArgs& rules) {
  to.texts("--use", rules.uses,
           "SECRET, SECRET=WAY (base_url, headers, placeholder) or SECRET=API (" + known_apis() +
               "; default: the one of its name): use it without seeing it; "
               "repeatable");
  to.texts("--fence", rules.fences,
           "HOST, without a secret: of what the policy lets through to it only --method and "
           "--path; repeatable");
  to.lists("--method", rules.methods,
           "Of each --use and --fence of the line: these methods alone, as GET,POST; rules that "
           "differ: --proxy");
  to.texts("--path", rules.paths,
           "Of each --use and --fence of the line: these paths alone, as '/v1/**'; repeatable");
  to.texts("--proxy", rules.rules,
           "A rule as JSON (docs/api.md), a list of them, or a file with one ('-' for stdin); "
           "repeatable");
}

void declare_paths(Options& to, std::vector<std::string>& read_only,
                   std::vector<std::string>& hidden) {
  to.texts("--read-only", read_only,
           "Nothing inside changes what is at this absolute path, not even root; repeatable");
  to.texts("--hide", hidden,
           "Nothing inside reads what is at this absolute path, not even root; repeatable");
}

std::optional<std::vector<std::string>> replaced_paths(const std::vector<std::string>& paths,
                                                       std::string_view option) {
  if (paths.empty()) return std::nullopt;
  if (std::ranges::find(paths, "none") == paths.end()) return paths;
  if (paths.size() > 1) wrong(option, "takes none alone, or paths");
  return std::vector<std::string>();
}

void check(const RuleArgs& rules) {
  const bool narrows = !rules.methods.empty() || !rules.paths.empty();
  if (narrows && rules.uses.empty() && rules.fences.empty())
    wrong("--method and --path", "go with --use or --fence");
  if (!narrows && !rules.fences.empty())
    wrong("--fence", "needs --method or --path: what is let through");
}

void check_refs(const RefsArgs& args, bool labelled) {
  if (labelled && args.all) wrong("--all", "and --label do not go together");
  if (args.refs.empty() && !args.all && !labelled) missing("SANDBOX (or --all)");
  if (!args.refs.empty() && args.all) wrong("--all", "and names do not go together");
}

std::string no_empty_policy(const std::string& words) {
  return words.find_first_not_of(" \t\r\n,") == std::string::npos
             ? "must not be empty: write off to let nothing through, or leave it out"
             : std::string();
}

}  // namespace cay::cli
