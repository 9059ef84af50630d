#include "client/json_read.h"

#include <charconv>

#include "codec/base64.h"
#include "codec/settings_json.h"

namespace cay::client {
namespace {

std::optional<std::int64_t> integer_in(const json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<std::int64_t>(value->get_uint64());
  if (value->is_double()) return static_cast<std::int64_t>(value->get_double());
  return std::nullopt;
}

std::uint32_t small_in(const json::object& from, std::string_view name) {
  return static_cast<std::uint32_t>(number_in(from, name));
}

std::optional<int> maybe_int(const json::object& from, std::string_view name) {
  const auto found = integer_in(from, name);
  if (!found) return std::nullopt;
  return static_cast<int>(*found);
}

std::map<std::string, std::string> strings_in(const json::object& from, std::string_view name) {
  std::map<std::string, std::string> out;
  const auto* value = from.if_contains(name);
  if (value == nullptr || !value->is_object()) return out;
  for (const auto& [key, item] : value->get_object()) {
    if (item.is_string()) out.emplace(std::string(key), std::string(item.get_string()));
  }
  return out;
}

std::vector<std::string> words_in(const json::object& from, std::string_view name) {
  std::vector<std::string> out;
  const auto* value = from.if_contains(name);
  if (value == nullptr || !value->is_array()) return out;
  for (const auto& word : value->get_array()) {
    if (word.is_string()) out.emplace_back(word.get_string());
  }
  return out;
}

const json::object& object_in(const json::object& from, std::string_view name) {
  static const json::object kEmpty;
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_object() ? value->get_object() : kEmpty;
}

std::pair<std::string, std::string> xattr_from(const json::object& from) {
  return {string_in(from, "name"), bytes_in(from, "value")};
}

sdk::StreamExtent extent_from(const json::object& from) {
  return {.bytes = number_in(from, "bytes"),
          .end_offset = number_in(from, "end_offset"),
          .gap_begin = number_in(from, "gap_begin"),
          .gap_end = number_in(from, "gap_end")};
}

Code code_from(std::string_view text, Code fallback) {
  for (int code = 1; code <= static_cast<int>(Code::kInternal); ++code) {
    if (to_string(static_cast<Code>(code)) == text) return static_cast<Code>(code);
  }
  return fallback;
}

}  // namespace

std::string string_in(const json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string bytes_in(const json::object& from, const std::string& name) {
  const std::string coded = string_in(from, name + "_base64");
  return coded.empty() ? string_in(from, name) : codec::from_base64(coded).value_or("");
}

std::uint64_t number_in(const json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  if (value != nullptr && value->is_uint64()) return value->get_uint64();
  const auto found = integer_in(from, name);
  return found && *found > 0 ? static_cast<std::uint64_t>(*found) : 0;
}

bool bool_in(const json::object& from, std::string_view name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Error error_from_json(const json::object& from, Code fallback) {
  Error out{code_from(string_in(from, "code"), fallback), string_in(from, "reason"),
            string_in(from, "message"), 0};
  if (out.reason.empty()) out.reason = "unknown";
  if (out.message.empty()) out.message = "the server gave no message";
  const std::string remedy = string_in(from, "remedy");
  if (!remedy.empty() && out.message.find(remedy) == std::string::npos)
    out.message += " (" + remedy + ")";
  const std::string id = string_in(from, "error_id");
  if (is_ours(out.code) && !id.empty()) out.message += " [error " + id + " in the daemon's log]";
  return out;
}

sdk::SandboxInfo sandbox_from(const json::object& from) {
  sdk::SandboxInfo out;
  out.id = string_in(from, "id");
  out.name = string_in(from, "name");
  out.state = string_in(from, "state");
  out.reason = string_in(from, "reason");
  out.snapshot = string_in(from, "snapshot");
  out.labels = strings_in(from, "labels");
  const json::object& limits = object_in(from, "limits");
  out.limits = {.cpu_millicores = small_in(limits, "cpu_millicores"),
                .memory_bytes = number_in(limits, "memory_bytes"),
                .disk_bytes = number_in(limits, "disk_bytes"),
                .pids = small_in(limits, "pids")};
  out.user = string_in(from, "user");
  out.workdir = string_in(from, "workdir");
  out.env = strings_in(from, "env");
  out.policy = string_in(from, "policy");
  out.network = string_in(object_in(from, "network"), "state");
  out.network_reason = string_in(object_in(from, "network"), "reason");
  codec::settings_at(from, out);
  out.created_at = string_in(from, "created_at");
  out.updated_at = string_in(from, "updated_at");
  out.last_active_at = string_in(from, "last_active_at");
  out.stopped_at = string_in(from, "stopped_at");
  out.created_by = string_in(from, "created_by");
  out.claim = string_in(from, "claim");
  out.json = codec::write(from);
  return out;
}

sdk::CommandInfo command_from(const json::object& from) {
  sdk::CommandInfo out;
  out.id = string_in(from, "id");
  const auto* argv = from.if_contains("argv");
  if (argv != nullptr && argv->is_array()) {
    for (const auto& item : argv->get_array()) {
      if (item.is_string()) out.argv.emplace_back(item.get_string());
    }
  }
  out.argv_truncated = bool_in(from, "argv_truncated");
  out.state = string_in(from, "state");
  out.exit_code = maybe_int(from, "exit_code");
  out.signal = maybe_int(from, "signal");
  out.by = string_in(from, "by");
  out.reason = string_in(from, "reason");
  out.oom_kills = small_in(from, "oom_kills");
  out.tmpfs_bytes = number_in(from, "tmpfs_bytes");
  out.pid = integer_in(from, "pid").value_or(0);
  out.pty = bool_in(from, "pty");
  out.started_at = string_in(from, "started_at");
  out.ended_at = string_in(from, "ended_at");
  out.cwd = string_in(from, "cwd");
  out.user = string_in(from, "user");
  out.out = extent_from(object_in(from, "stdout"));
  out.err = extent_from(object_in(from, "stderr"));
  out.json = codec::write(from);
  return out;
}

sdk::FileInfo file_from(const json::object& from) {
  sdk::FileInfo out;
  out.path = string_in(from, "path");
  out.kind = string_in(from, "kind");
  out.size = number_in(from, "size");
  const std::string mode = string_in(from, "mode");
  std::from_chars(mode.data(), mode.data() + mode.size(), out.mode, 8);
  out.uid = small_in(from, "uid");
  out.gid = small_in(from, "gid");
  out.mtime = string_in(from, "mtime");
  out.etag = string_in(from, "etag");
  out.target = string_in(from, "target");
  out.owner = string_in(from, "owner");
  out.group = string_in(from, "group");
  for (const auto& [name, value] : list_from(from, "xattrs", xattr_from)) out.xattrs[name] = value;
  return out;
}

sdk::ProgramEvent program_from(const json::object& from) {
  sdk::ProgramEvent out;
  out.offset = number_in(from, "offset");
  out.kind = string_in(from, "kind");
  out.at = string_in(from, "at");
  out.process = string_in(from, "process");
  out.pid = small_in(from, "pid");
  out.parent = small_in(from, "parent");
  out.uid = small_in(from, "uid");
  out.path = bytes_in(from, "path");
  for (const char* name : {"args", "args_base64"}) {
    const auto* args = from.if_contains(name);
    if (args == nullptr || !args->is_array()) continue;
    for (const auto& item : args->get_array()) {
      const std::string arg = item.is_string() ? std::string(item.get_string()) : std::string();
      out.args.push_back(std::string_view(name) == "args" ? arg
                                                          : codec::from_base64(arg).value_or(""));
    }
  }
  out.exit_code = maybe_int(from, "exit_code");
  out.signal = maybe_int(from, "signal");
  out.oom_killed = bool_in(from, "oom_killed");
  out.lost = number_in(from, "lost");
  out.json = codec::write(from);
  return out;
}

sdk::NetworkReport network_from(const json::object& from) {
  const auto decision_from = [](const json::object& line) {
    return sdk::NetworkDecision{.host = string_in(line, "host"),
                                .address = string_in(line, "address"),
                                .port = static_cast<std::uint16_t>(number_in(line, "port")),
                                .allowed = string_in(line, "verdict") == "allowed",
                                .reason = string_in(line, "reason"),
                                .remedy = string_in(line, "remedy"),
                                .rule = string_in(line, "rule"),
                                .count = number_in(line, "count"),
                                .first_at = string_in(line, "first_at"),
                                .last_at = string_in(line, "last_at"),
                                .sent_bytes = number_in(line, "sent_bytes"),
                                .received_bytes = number_in(line, "received_bytes")};
  };
  return {.policy = string_in(from, "policy"),
          .running_policy = string_in(from, "running_policy"),
          .policy_allowed = !from.contains("policy_allowed") ||
                            bool_in(from, "policy_allowed"),  // an older daemon leaves it out
          .gate_serves = string_in(from, "gate") != "down",
          .network = string_in(object_in(from, "network"), "state"),
          .network_reason = string_in(object_in(from, "network"), "reason"),
          .items = list_from(from, "items", decision_from),
          .forgotten = number_in(from, "forgotten"),
          .sent_bytes = number_in(from, "sent_bytes"),
          .received_bytes = number_in(from, "received_bytes"),
          .json = codec::write(from)};
}

sdk::ProgramPage programs_from(const json::object& from) {
  return {.items = list_from(from, "items", program_from),
          .next_offset = number_in(from, "next_offset")};
}

sdk::Stats stats_from(const json::object& from) {
  return {.cpu_usec = number_in(from, "cpu_usec"),
          .memory_bytes = number_in(from, "memory_bytes"),
          .tmpfs_bytes = number_in(from, "tmpfs_bytes"),
          .pids = small_in(from, "pids"),
          .oom_kills = small_in(from, "oom_kills"),
          .running_commands = small_in(from, "running_commands"),
          .paused = bool_in(from, "paused")};
}

sdk::Snapshot snapshot_from(const json::object& from) {
  const json::object& config = object_in(from, "config");
  return {.id = string_in(from, "id"),
          .name = string_in(from, "name"),
          .status = string_in(from, "status"),
          .fingerprint = string_in(from, "fingerprint"),
          .created_at = string_in(from, "created_at"),
          .used_bytes = number_in(from, "used_bytes"),
          .own_bytes = number_in(from, "own_bytes"),
          .origin = string_in(from, "origin"),
          .image = string_in(from, "image"),
          .digest = string_in(from, "digest"),
          .status_message = string_in(from, "status_message"),
          .source_sandbox = string_in(from, "source_sandbox"),
          .tags = words_in(from, "tags"),
          .config = {.user = string_in(config, "user"),
                     .workdir = string_in(config, "workdir"),
                     .env = strings_in(config, "env"),
                     .entrypoint = words_in(config, "entrypoint"),
                     .command = words_in(config, "command"),
                     .labels = strings_in(config, "labels"),
                     .ports = words_in(config, "ports")},
          .json = codec::write(from)};
}

sdk::PushState push_from(const json::object& from) {
  return {.image = string_in(from, "reference"),
          .state = string_in(from, "state"),
          .message = string_in(from, "message"),
          .digest = string_in(from, "digest"),
          .json = codec::write(from)};
}

sdk::BuildLog build_log_from(const json::object& from) {
  return {.snapshot_id = string_in(from, "snapshot_id"),
          .state = string_in(from, "state"),
          .from = number_in(from, "from"),
          .end = number_in(from, "end"),
          .text = string_in(from, "text"),
          .message = string_in(from, "message"),
          .reason = string_in(from, "reason")};
}

sdk::Feature feature_from(const json::object& from) {
  return {.name = string_in(from, "name"),
          .ok = bool_in(from, "ok"),
          .found = string_in(from, "found"),
          .fallback = string_in(from, "fallback"),
          .remedy = string_in(from, "remedy")};
}

sdk::GrepMatch match_from(const json::object& from) {
  return {.path = string_in(from, "path"),
          .line = number_in(from, "line"),
          .text = string_in(from, "text")};
}

sdk::Version version_from(const json::object& from) {
  return {.name = string_in(from, "name"),
          .version = string_in(from, "version"),
          .api = string_in(from, "api")};
}

}  // namespace cay::client

namespace cay::sdk {

std::vector<std::string> ImageConfig::argv() const {
  std::vector<std::string> out = entrypoint;
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

int CommandInfo::shell_exit_code() const {
  constexpr int kTimedOut = 124;
  constexpr int kOurFailure = 125;
  constexpr int kSignalBase = 128;
  if (state == "exited") return exit_code.value_or(kOurFailure);
  if (state == "timed_out") return kTimedOut;
  if (state == "signalled" || state == "idle_killed" || state == "oom_killed" ||
      state == "killed") {
    constexpr int kSigkill = 9;
    return kSignalBase + signal.value_or(kSigkill);
  }
  return kOurFailure;
}

}  // namespace cay::sdk
