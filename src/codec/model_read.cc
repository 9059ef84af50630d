#include "codec/model_read.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/saturate.h"
#include "codec/base64.h"
#include "codec/lenient.h"
#include "codec/proxy_json.h"
#include "codec/settings_json.h"
#include "codec/time.h"
#include "model/command_limits.h"

namespace cay::codec {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMaxMap = 1024;

void read_seconds(Fields& fields, std::string_view name, std::int64_t& millis, double min) {
  double value = 0;
  if (!fields.read(name, value, min, static_cast<double>(kMostSeconds))) return;
  millis = value < 0 ? -1 : static_cast<std::int64_t>(std::llround(value * 1000));
  if (value > 0 && millis == 0) millis = 1;  // 0 means "none"
}

template <class T>
void read_number(Fields& fields, std::string_view name, T& out, std::int64_t min = 0) {
  std::int64_t value = 0;
  const auto max = static_cast<std::int64_t>(
      std::min<std::uint64_t>(std::numeric_limits<T>::max(), static_cast<std::uint64_t>(kMaxInt)));
  if (fields.read(name, value, min, max)) out = static_cast<T>(value);
}

void read_limits(Fields& fields, Limits& limits) {
  const json::object* inner = fields.object("limits");
  if (inner == nullptr) return;
  Fields in(*inner, fields.path("limits"));
  read_number(in, "cpu_millicores", limits.cpu_millicores);
  read_number(in, "memory_bytes", limits.memory_bytes);
  read_number(in, "disk_bytes", limits.disk_bytes);
  read_number(in, "pids", limits.pids);
  in.refuse_unknown();
  fields.adopt(in);
}

void read_run(Fields& fields, RunConfig& run, std::string_view workdir) {
  std::string value;
  if (fields.read("user", value)) run.user = value;
  if (fields.read(workdir, value)) run.workdir = value;
  fields.read("env", run.env, kMaxMap);
}

UnixMillis time_at(const json::object& in, std::string_view name) {
  return from_rfc3339(string_at(in, name)).value_or(0);
}

Error bad_answer(std::string_view what) {
  return Error{Code::kInternal, "bad_answer", "the daemon's answer holds no " + std::string(what),
               0};
}

StreamExtent extent_at(const json::object& in, std::string_view name) {
  const json::object& extent = object_at(in, name);
  StreamExtent out;
  out.bytes = number_at<std::uint64_t>(extent, "bytes");
  out.end_offset = number_at<std::uint64_t>(extent, "end_offset");
  out.gap_begin = number_at<std::uint64_t>(extent, "gap_begin");
  out.gap_end = number_at<std::uint64_t>(extent, "gap_end");
  return out;
}

}  // namespace

std::optional<std::string> read_policy(Fields& fields) {
  constexpr std::size_t kMostRules = 1024;  // the core has its own, lower bound
  std::string policy;
  const bool named = fields.read("policy", policy);
  std::vector<std::string> rules;
  const bool listed = fields.read("rules", rules, kMostRules);
  // An empty list must not become the default policy, which lets something through.
  constexpr const char* kEmpty =
      "is empty: write \"policy\": \"off\" to let nothing through, or leave it out";
  if (listed && rules.empty()) fields.complain("rules", kEmpty);
  if (named && policy.empty()) fields.complain("policy", kEmpty);
  if (!listed) return named ? std::optional(policy) : std::nullopt;
  if (named && policy != "rules")
    fields.complain("rules",
                    "stand beside no policy but \"rules\": write the policy's name among them");
  std::string out;
  for (const std::string& rule : rules) {
    if (rule.find('\n') != std::string::npos) fields.complain("rules", "a rule is one line");
    out += rule + "\n";
  }
  return out;
}

namespace {

void read_create(Fields& fields, CreateRequest& out) {
  if (fields.read("name", out.spec.name) && out.spec.name.empty())
    fields.complain("name", "must not be empty: leave it out, and one is made up");
  fields.read("snapshot", out.spec.snapshot);
  fields.read("image", out.spec.image);
  if (!out.spec.snapshot.empty() && !out.spec.image.empty())
    fields.complain("image", "stands beside no snapshot: give one of the two");
  fields.read("labels", out.spec.labels, kMaxMap);
  read_limits(fields, out.spec.limits);
  read_run(fields, out.spec.run, "workdir");
  if (auto policy = read_policy(fields)) out.spec.policy = *std::move(policy);
  if (auto rules = read_proxy(fields)) out.spec.proxy = *std::move(rules);
  read_settings(fields, out.spec);
  fields.read("wait", out.wait);
  constexpr double kLongestWait = 3600;
  double timeout = 0;
  if (fields.read("timeout_s", timeout, 0, kLongestWait))
    out.timeout_ms = std::llround(timeout * 1000);
}

}  // namespace

Result<CreateRequest> read_create(const json::object& in) {
  CreateRequest out;
  Fields fields(in);
  read_create(fields, out);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

Result<CreateRequest> read_ensure(const json::object& in) {
  CreateRequest out;
  Fields fields(in);
  if (!fields.read("claim", out.spec.claim)) fields.complain("claim", "is needed");
  read_create(fields, out);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

Result<SandboxPatch> read_patch(const json::object& in) {
  SandboxPatch out;
  Fields fields(in);
  std::string name;
  if (fields.read("name", name)) out.name = name;
  std::map<std::string, std::string> labels;
  if (fields.read("labels", labels, kMaxMap)) out.labels = std::move(labels);
  read_settings(fields, out);
  RunConfig run;
  read_run(fields, run, "workdir");
  if (run != RunConfig{}) out.run = std::move(run);
  out.policy = read_policy(fields);
  out.proxy = read_proxy(fields);
  if (const json::object* inner = fields.object("limits")) {
    Fields limits(*inner, fields.path("limits"));
    std::uint32_t cpu = 0;
    std::uint64_t bytes = 0;
    if (limits.has("cpu_millicores"))
      read_number(limits, "cpu_millicores", cpu, 1), out.cpu_millicores = cpu;
    if (limits.has("memory_bytes"))
      read_number(limits, "memory_bytes", bytes, 1), out.memory_bytes = bytes;
    if (limits.has("disk_bytes"))
      read_number(limits, "disk_bytes", bytes, 1), out.disk_bytes = bytes;
    limits.refuse_unknown();
    fields.adopt(limits);
  }
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

std::optional<PtySize> read_pty_size(Fields& fields) {
  PtySize size;
  std::int64_t value = 0;
  constexpr std::int64_t kMost = 65'535;
  if (fields.read("rows", value, 1, kMost)) size.rows = static_cast<std::uint16_t>(value);
  if (fields.read("cols", value, 1, kMost)) size.cols = static_cast<std::uint16_t>(value);
  if (!fields.has("rows")) fields.complain("rows", "is needed");
  if (!fields.has("cols")) fields.complain("cols", "is needed");
  if (!fields.ok()) return std::nullopt;
  return size;
}

void read_command_spec(Fields& fields, CommandSpec& spec, bool* close_stdin_given) {
  std::string id;
  if (fields.read("id", id)) {
    if (!is_valid_command_id(id))
      fields.complain("id", "must be 1-128 of [A-Za-z0-9._-], not starting with '.' or '-'");
    spec.id = CommandId(id);
  }
  const bool has_argv = fields.read("argv", spec.argv, kMaxArguments);
  std::string line;
  std::string shell = "/bin/sh";
  const bool has_line = fields.read("command", line, kMaxCommandRequest);
  const bool has_shell = fields.read("shell", shell);
  if (fields.ok() && has_argv == has_line)
    fields.complain("argv", "give exactly one of argv and command");
  if (has_argv && spec.argv.empty()) fields.complain("argv", "must name a program");
  if (has_shell && !has_line) fields.complain("shell", "goes with command, not with argv");
  if (has_line) spec.argv = {shell, "-c", line};
  spec.shell_line = has_line;
  for (const std::string& word : spec.argv) {
    if (word.find('\0') != std::string::npos) fields.complain("argv", "holds a NUL");
  }
  read_run(fields, spec.run, "cwd");
  if (const json::object* pty = fields.object("pty")) {
    Fields inner(*pty, fields.path("pty"));
    spec.pty = read_pty_size(inner);
    inner.refuse_unknown();
    fields.adopt(inner);
  }
  spec.timeout_ms = 60'000;
  read_seconds(fields, "timeout_s", spec.timeout_ms, 0);
  read_seconds(fields, "idle_timeout_s", spec.idle_timeout_ms, -1);
  read_seconds(fields, "ttl_s", spec.ttl_ms, -1);
  constexpr std::int64_t kLeastOutput = 4096;
  constexpr std::int64_t kMostOutput = std::int64_t{1} << 40;
  std::int64_t output = 0;
  if (fields.read("output_limit_bytes", output, kLeastOutput, kMostOutput)) {
    spec.output_limit_bytes = static_cast<std::uint64_t>(output);
  }
  fields.read("kill_on_disconnect", spec.kill_on_disconnect);
  const bool given = fields.read("close_stdin", spec.close_stdin);
  if (close_stdin_given != nullptr) *close_stdin_given = given;
  fields.read("end_tree", spec.end_tree);
  fields.read("ignore_mismatch", spec.ignore_mismatch);
}

void read_command_request(Fields& fields, CommandRequest& request) {
  read_command_spec(fields, request.spec, &request.close_stdin_given);
  fields.read("wait", request.wait);
  if (fields.has("wait_s")) {
    std::int64_t wait_ms = 0;
    read_seconds(fields, "wait_s", wait_ms, 0);
    request.wait_ms = wait_ms;
    if (!request.wait) fields.complain("wait_s", "cannot go with wait: false");
    if (fields.has("stdin"))
      fields.complain("stdin", "cannot go with wait_s: write it to .../stdin");
    if (request.spec.kill_on_disconnect) {
      fields.complain("kill_on_disconnect",
                      "cannot go with wait_s: the command runs on when nobody waits any more");
    }
  }
  std::string encoded;
  constexpr std::size_t kMaxStdin = 64 << 20;
  if (fields.read("stdin", encoded, kMaxStdin)) {
    request.stdin_bytes = from_base64(encoded);
    if (!request.stdin_bytes) fields.complain("stdin", "must be base64");
    if (request.close_stdin_given && request.spec.close_stdin)
      fields.complain("stdin", "cannot go with close_stdin");
  }
  constexpr std::int64_t kMostOutput = 64 << 20;
  std::int64_t most = 0;
  if (fields.read("max_output_bytes", most, 0, kMostOutput))
    request.max_output_bytes = static_cast<std::uint64_t>(most);
  // Somebody who waits for the end cannot write: reading commands get their end of file at once.
  if (request.wait && !request.stdin_bytes && !request.close_stdin_given && !request.spec.pty) {
    request.spec.close_stdin = true;
  }
}

std::optional<int> signal_from(std::string_view text) {
  // signal(7), x86 and arm.
  static constexpr std::array<std::string_view, 32> kNames = {
      "",     "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "IO",   "PWR",  "SYS"};
  constexpr int kMostSignal = 64;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    if (text.size() > 2) return std::nullopt;
    const int number = std::stoi(std::string(text));
    return number <= kMostSignal ? std::optional<int>(number) : std::nullopt;
  }
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<int>(i);
  }
  return std::nullopt;
}

int read_signal(Fields& fields, std::string_view name) {
  if (!fields.has(name)) return 0;
  Fields probe = fields;
  std::string word;
  if (probe.read(name, word)) {
    const auto signal = signal_from(word);
    if (!signal) fields.complain(name, "is no signal: give a number (15) or a name (TERM)");
    return signal.value_or(0);
  }
  constexpr std::int64_t kMostSignal = 64;
  std::int64_t number = 0;
  fields.read(name, number, 0, kMostSignal);
  return static_cast<int>(number);
}

std::optional<std::uint32_t> mode_from(std::string_view text) {
  if (text.empty() || text.size() > 5 ||
      text.find_first_not_of("01234567") != std::string_view::npos)
    return std::nullopt;
  const auto mode = static_cast<std::uint32_t>(std::stoul(std::string(text), nullptr, 8));
  if (mode > 07777) return std::nullopt;
  return mode;
}

std::optional<Code> code_from(std::string_view text) {
  for (int i = 1; i <= static_cast<int>(Code::kInternal); ++i) {
    const auto code = static_cast<Code>(i);
    if (to_string(code) == text) return code;
  }
  return std::nullopt;
}

std::optional<CommandState> command_state_from(std::string_view text) {
  for (int i = 1; i <= static_cast<int>(CommandState::kLost); ++i) {
    const auto state = static_cast<CommandState>(i);
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

Result<Sandbox> sandbox_from(const json::value& value) {
  if (!value.is_object()) return bad_answer("sandbox");
  const json::object& in = value.get_object();
  Sandbox out;
  out.id = SandboxId(string_at(in, "id"));
  const auto state = sandbox_state_from(string_at(in, "state"));
  if (out.id.get().empty() || !state) return bad_answer("sandbox");
  out.name = string_at(in, "name");
  out.state = *state;
  out.reason = string_at(in, "reason");
  out.snapshot_name = string_at(in, "snapshot");
  out.snapshot_id = SnapshotId(string_at(in, "snapshot_id"));
  out.labels = map_at(in, "labels");
  const json::object& limits = object_at(in, "limits");
  out.limits.cpu_millicores = number_at<std::uint32_t>(limits, "cpu_millicores");
  out.limits.memory_bytes = number_at<std::uint64_t>(limits, "memory_bytes");
  out.limits.disk_bytes = number_at<std::uint64_t>(limits, "disk_bytes");
  out.limits.pids = number_at<std::uint32_t>(limits, "pids");
  out.run.user = maybe_string_at(in, "user");
  out.run.workdir = maybe_string_at(in, "workdir");
  out.run.env = map_at(in, "env");
  out.policy = string_at(in, "policy");
  if (const json::value* rules = in.if_contains("rules"); rules != nullptr && rules->is_array()) {
    for (const json::value& rule : rules->get_array()) {
      if (rule.is_string())
        out.rules += (out.rules.empty() ? "" : "\n") +
                     std::string(rule.get_string().c_str(), rule.get_string().size());
    }
  }
  const json::object& network = object_at(in, "network");
  out.network.state = network_state_from(string_at(network, "state")).value_or(NetworkState::kOff);
  out.network.reason = string_at(network, "reason");
  settings_at(in, out);
  out.created_at = time_at(in, "created_at");
  out.updated_at = time_at(in, "updated_at");
  out.last_active_at = time_at(in, "last_active_at");
  out.stopped_at = from_rfc3339(string_at(in, "stopped_at"));
  out.created_by = string_at(in, "created_by");
  out.claim = string_at(in, "claim");
  return out;
}

Result<Command> command_from(const json::value& value) {
  if (!value.is_object()) return bad_answer("command");
  const json::object& in = value.get_object();
  Command out;
  out.id = CommandId(string_at(in, "id"));
  const auto state = command_state_from(string_at(in, "state"));
  if (out.id.get().empty() || !state) return bad_answer("command");
  if (const json::value* found = in.if_contains("argv"); found != nullptr && found->is_array()) {
    for (const json::value& word : found->get_array()) {
      if (word.is_string())
        out.argv.emplace_back(word.get_string().data(), word.get_string().size());
    }
  }
  out.end.state = *state;
  out.end.exit_code = number_at<int>(in, "exit_code");
  out.end.signal = number_at<int>(in, "signal");
  out.end.by = string_at(in, "by");
  out.end.reason = string_at(in, "reason");
  out.end.oom_kills = number_at<std::uint32_t>(in, "oom_kills");
  out.end.tmpfs_bytes = number_at<std::uint64_t>(in, "tmpfs_bytes");
  out.end.witness = string_at(in, "witness");
  out.end.ended_at = time_at(in, "ended_at");
  out.end.cpu_usec = number_at<std::uint64_t>(in, "cpu_usec");
  out.end.max_rss_bytes = number_at<std::uint64_t>(in, "max_rss_bytes");
  out.pid = number_at<std::int64_t>(in, "pid");
  out.pty = bool_at(in, "pty");
  out.known = bool_at(in, "known");
  out.started_at = time_at(in, "started_at");
  out.cwd = string_at(in, "cwd");
  out.user = string_at(in, "user");
  out.timeout_ms = std::llround(number_at<double>(in, "timeout_s") * 1000);
  out.out = extent_at(in, "stdout");
  out.err = extent_at(in, "stderr");
  return out;
}

Result<FileInfo> file_info_from(const json::value& value) {
  if (!value.is_object()) return bad_answer("file facts");
  const json::object& in = value.get_object();
  FileInfo out;
  out.path = from_base64(string_at(in, "path_base64")).value_or("");
  if (out.path.empty()) out.path = string_at(in, "path");
  const std::string kind = string_at(in, "kind");
  out.kind = kind == "file"        ? FileKind::kFile
             : kind == "directory" ? FileKind::kDirectory
             : kind == "symlink"   ? FileKind::kSymlink
                                   : FileKind::kOther;
  out.size = number_at<std::uint64_t>(in, "size");
  out.mode = mode_from(string_at(in, "mode")).value_or(0);
  out.uid = number_at<std::uint32_t>(in, "uid");
  out.gid = number_at<std::uint32_t>(in, "gid");
  out.mtime_ns = saturating_product(time_at(in, "mtime"), 1'000'000);
  out.target = string_at(in, "target");
  return out;
}

Error error_from(std::string_view body) {
  constexpr std::size_t kShown = 200;
  Error out{Code::kInternal, "bad_answer",
            "not an answer of Cay's: " + std::string(body.substr(0, kShown)), 0};
  auto parsed = parse(body);
  if (!parsed || !parsed->is_object()) return out;
  const json::value* found = parsed->get_object().if_contains("error");
  if (found == nullptr || !found->is_object()) return out;
  const json::object& error = found->get_object();
  out.code = code_from(string_at(error, "code")).value_or(Code::kInternal);
  out.reason = string_at(error, "reason");
  out.message = string_at(error, "message");
  const std::string id = string_at(error, "error_id");
  if (!id.empty() && is_ours(out.code)) out.message += " (error_id " + id + ")";
  return out;
}

}  // namespace cay::codec
