#include "codec/model_json.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "codec/base64.h"
#include "codec/network_json.h"
#include "codec/proxy_json.h"
#include "codec/settings_json.h"
#include "codec/time.h"
#include "codec/utf8.h"

namespace cay::codec {
namespace {

json::object map_json(const std::map<std::string, std::string>& items) {
  json::object out;
  for (const auto& [key, value] : items) out[text(key)] = text(value);
  return out;
}

json::value time_or_null(std::optional<UnixMillis> time) {
  return time ? json::value(rfc3339(*time)) : json::value(nullptr);
}

json::value text_or_null(const std::optional<std::string>& value) {
  return value ? json::value(text(*value)) : json::value(nullptr);
}

bool has_signal(CommandState state) {
  switch (state) {
    case CommandState::kSignalled:
    case CommandState::kTimedOut:
    case CommandState::kIdleKilled:
    case CommandState::kOomKilled:
    case CommandState::kKilled: return true;
    case CommandState::kRunning:
    case CommandState::kExited:
    case CommandState::kLost: return false;
  }
  return false;
}

// Returns the command that a message has in parentheses, as in "resume it (cay resume b)"; empty:
// none.
std::string_view command_in(std::string_view message) {
  constexpr std::string_view kBegin = "(cay ";
  const std::size_t at = message.find(kBegin);
  const std::size_t end = message.find(')', at == std::string_view::npos ? message.size() : at);
  return end == std::string_view::npos ? "" : message.substr(at + 1, end - at - 1);
}

// Errors of these reasons have the remedy in their message.
constexpr std::string_view kMessageHasRemedy[] = {
    "cross_device",      "file_helper_died",     "images_unavailable", "images_unsupported",
    "keeper_stalled",    "keeper_unreachable",   "no_answer",          "no_cgroup_controller",
    "no_cgroup_parent",  "no_descriptors",       "no_filter_room",     "no_free_name",
    "no_layers",         "no_mkfs_btrfs",        "old_keeper",         "profile_unsupported",
    "protocol_version",  "programs_loader_died", "secret_not_given",   "secret_not_withdrawn",
    "shutting_down",     "start_interfered",     "start_too_late",     "store_too_new",
    "store_too_old",     "tls_untrusted",        "tmpfs_unsupported",  "too_many_connections",
    "vault_unavailable", "launcher_not_running"};

// Returns the one action that mends it. Clients append it to the message, so an error whose message
// has one gets none here.
std::string_view remedy_of(const Error& error) {
  const bool in_message =
      std::ranges::find(kMessageHasRemedy, error.reason) != std::end(kMessageHasRemedy);
  switch (error.code) {
    case Code::kUnauthenticated:
      return error.reason == "no_key" ? "send the key of DATA/api-key as X-Api-Key" : "";
    case Code::kUnavailable:
      if (error.reason == "draining") return "the operator's `cay drain --undo` admits again";
      return in_message ? "" : "retry; if it stays so, run cay doctor";
    case Code::kUnsupported: return in_message ? "" : "run cay doctor to see what this host lacks";
    case Code::kNotReady: return command_in(error.message);
    case Code::kInvalidArgument:
    case Code::kPermissionDenied:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kExhausted:
    case Code::kDeadlineExceeded:
    case Code::kCancelled:
    case Code::kOutOfRange:
    case Code::kLost:
    case Code::kInternal: return "";
  }
  return "";
}

double seconds(std::int64_t millis) { return static_cast<double>(millis) / 1000.0; }
json::value seconds_json(std::int64_t millis) {
  if (millis < 0) return -1;
  if (millis % 1000 == 0) return millis / 1000;
  return seconds(millis);
}

}  // namespace

std::string_view kind_text(FileKind kind) {
  switch (kind) {
    case FileKind::kFile: return "file";
    case FileKind::kDirectory: return "directory";
    case FileKind::kSymlink: return "symlink";
    case FileKind::kOther: return "other";
  }
  return "other";
}

std::string mode_text(std::uint32_t mode) {
  std::array<char, 16> out{};
  const int size = std::snprintf(out.data(), out.size(), "%04o", mode & 07777u);
  return std::string(out.data(), static_cast<std::size_t>(size));
}

std::string etag(const FileInfo& info) {
  std::array<char, 80> out{};
  const int size = std::snprintf(
      out.data(), out.size(), "\"%llx-%llx-%llx\"", static_cast<unsigned long long>(info.inode),
      static_cast<unsigned long long>(info.mtime_ns), static_cast<unsigned long long>(info.size));
  return std::string(out.data(), static_cast<std::size_t>(size));
}

void put_bytes(json::object& out, const std::string& name, std::string_view bytes) {
  if (is_utf8(bytes)) {
    out[name] = json::string(bytes);
  } else {
    out[name + "_base64"] = base64(bytes);
  }
}

json::object to_json(const Limits& limits) {
  return {{"cpu_millicores", limits.cpu_millicores},
          {"memory_bytes", limits.memory_bytes},
          {"disk_bytes", limits.disk_bytes},
          {"pids", limits.pids}};
}

json::object to_json(const SandboxNetwork& network) {
  return {{"state", to_string(network.state)}, {"reason", text(network.reason)}};
}

json::object to_json(const Sandbox& sandbox) {
  json::object out{{"id", sandbox.id.get()},
                   {"name", text(sandbox.name)},
                   {"state", to_string(sandbox.state)},
                   {"reason", text(sandbox.reason)},
                   {"snapshot", text(sandbox.snapshot_name)},
                   {"snapshot_id", sandbox.snapshot_id.get()},
                   {"labels", map_json(sandbox.labels)},
                   {"limits", to_json(sandbox.limits)},
                   {"user", text_or_null(sandbox.run.user)},
                   {"workdir", text_or_null(sandbox.run.workdir)},
                   {"env", map_json(sandbox.run.env)},
                   {"policy", text(sandbox.policy)},
                   {"proxy", to_json(sandbox.proxy)},
                   {"rules", lines_of(sandbox.rules)},
                   {"network", to_json(sandbox.network)}};
  put_settings(out, sandbox);
  out["created_at"] = rfc3339(sandbox.created_at);
  out["updated_at"] = rfc3339(sandbox.updated_at);
  out["last_active_at"] = rfc3339(sandbox.last_active_at);
  out["stopped_at"] = time_or_null(sandbox.stopped_at);
  out["created_by"] = text(sandbox.created_by);
  out["claim"] = text(sandbox.claim);
  return out;
}

json::object to_json(const UsageSummary& usage) {
  return {{"cpu_limit_millicores", usage.cpu_limit_millicores},
          {"cpu_used_millicores", usage.cpu_used_millicores},
          {"memory_limit_bytes", usage.memory_limit_bytes},
          {"memory_used_bytes", usage.memory_used_bytes},
          {"sandboxes_limit", usage.sandboxes_limit},
          {"running", usage.running},
          {"stopped", usage.stopped},
          {"snapshots", usage.snapshots}};
}

json::object to_json(const StreamExtent& extent) {
  return {{"bytes", extent.bytes},
          {"end_offset", extent.end_offset},
          {"gap_begin", extent.gap_begin},
          {"gap_end", extent.gap_end}};
}

json::value to_json(const std::optional<KeptGap>& gap) {
  if (!gap) return nullptr;
  return json::object{{"offset", gap->offset},
                      {"length", gap->length},
                      {"at", gap->at},
                      {"note_bytes", gap->note_bytes}};
}

void put_end(json::object& out, const Command& command) {
  const CommandEnd& end = command.end;
  const bool running = end.state == CommandState::kRunning;
  out["state"] = to_string(end.state);
  out["exit_code"] =
      end.state == CommandState::kExited ? json::value(end.exit_code) : json::value(nullptr);
  out["signal"] = has_signal(end.state) ? json::value(end.signal) : json::value(nullptr);
  out["by"] = text(end.by);
  out["reason"] = text(end.reason);
  out["shell_exit_code"] = running ? json::value(nullptr) : json::value(shell_exit_code(end));
  out["oom_kills"] = end.oom_kills;
  out["tmpfs_bytes"] = end.tmpfs_bytes;
  out["started_at"] = rfc3339(command.started_at);
  out["ended_at"] =
      running || end.ended_at == 0 ? json::value(nullptr) : json::value(rfc3339(end.ended_at));
}

json::object to_json(const Command& command) {
  const CommandEnd& end = command.end;
  json::array argv;
  for (const std::string& word : command.argv) argv.emplace_back(text(word));
  json::object out{{"id", command.id.get()}, {"argv", std::move(argv)}};
  out["argv_truncated"] = command.argv_truncated;
  put_end(out, command);
  out["witness"] = text(end.witness);
  out["pid"] = command.pid;
  out["pty"] = command.pty;
  out["known"] = command.known;
  out["cwd"] = text(command.cwd);
  out["user"] = text(command.user);
  out["timeout_s"] = seconds_json(command.timeout_ms);
  out["cpu_usec"] = end.cpu_usec;
  out["max_rss_bytes"] = end.max_rss_bytes;
  out["stdout"] = to_json(command.out);
  out["stderr"] = to_json(command.err);
  return out;
}

json::object to_json(const FileInfo& info) {
  constexpr std::int64_t kNanosPerMilli = 1'000'000;
  json::object out{{"path", text(info.path)},
                   {"kind", kind_text(info.kind)},
                   {"size", info.size},
                   {"mode", mode_text(info.mode)},
                   {"uid", info.uid},
                   {"gid", info.gid},
                   {"mtime", rfc3339(info.mtime_ns / kNanosPerMilli)},
                   {"etag", etag(info)}};
  if (!is_utf8(info.path)) out["path_base64"] = base64(info.path);
  if (info.kind == FileKind::kSymlink) out["target"] = text(info.target);
  if (!info.owner.empty()) out["owner"] = text(info.owner);
  if (!info.group.empty()) out["group"] = text(info.group);
  if (info.xattrs.empty()) return out;
  json::array xattrs;
  for (const auto& [name, value] : info.xattrs) {
    json::object one{{"name", text(name)}};
    put_bytes(one, "value", value);
    xattrs.emplace_back(std::move(one));
  }
  out["xattrs"] = std::move(xattrs);
  return out;
}

std::string_view kind_text(FileEventKind kind) {
  switch (kind) {
    case FileEventKind::kCreated: return "created";
    case FileEventKind::kModified: return "modified";
    case FileEventKind::kAttributes: return "attributes";
    case FileEventKind::kDeleted: return "deleted";
    case FileEventKind::kMoved: return "moved";
    case FileEventKind::kGap: return "gap";
  }
  return "gap";
}

json::object to_json(const FileEvent& event) {
  json::object out{{"seq", event.seq},
                   {"kind", kind_text(event.kind)},
                   {"path", text(event.path)},
                   {"directory", event.directory}};
  if (!is_utf8(event.path)) out["path_base64"] = base64(event.path);
  if (event.kind == FileEventKind::kMoved) {
    out["to"] = text(event.to);
    if (!is_utf8(event.to)) out["to_base64"] = base64(event.to);
  }
  return out;
}

json::object to_json(const GrepMatch& match) {
  json::object out{{"path", text(match.path)}, {"line", match.line}, {"text", text(match.text)}};
  if (!is_utf8(match.path)) out["path_base64"] = base64(match.path);
  return out;
}

json::object to_json(const Error& error, const std::string& error_id) {
  json::object out{{"code", to_string(error.code)},
                   {"reason", text(error.reason)},
                   {"message", text(error.message)}};
  const std::string_view remedy = remedy_of(error);
  if (!remedy.empty()) out["remedy"] = remedy;
  out["error_id"] = error_id;
  return out;
}

json::object to_json(const SandboxSpec& spec) {
  json::object out;
  if (!spec.name.empty()) out["name"] = text(spec.name);
  if (!spec.snapshot.empty()) out["snapshot"] = text(spec.snapshot);
  if (!spec.image.empty()) out["image"] = text(spec.image);
  if (!spec.labels.empty()) out["labels"] = map_json(spec.labels);
  if (spec.limits != Limits{}) out["limits"] = to_json(spec.limits);
  if (spec.run.user) out["user"] = text(*spec.run.user);
  if (spec.run.workdir) out["workdir"] = text(*spec.run.workdir);
  if (!spec.run.env.empty()) out["env"] = map_json(spec.run.env);
  if (!spec.policy.empty()) out["policy"] = text(spec.policy);
  if (!spec.proxy.empty()) out["proxy"] = to_json(spec.proxy);
  put_given_settings(out, spec);
  return out;
}

json::object to_json(const SandboxPatch& patch) {
  json::object out;
  if (patch.name) out["name"] = text(*patch.name);
  if (patch.labels) out["labels"] = map_json(*patch.labels);
  put_given_settings(out, patch);
  if (patch.proxy) out["proxy"] = to_json(*patch.proxy);
  if (patch.run) {
    if (patch.run->user) out["user"] = text(*patch.run->user);
    if (patch.run->workdir) out["workdir"] = text(*patch.run->workdir);
    if (!patch.run->env.empty()) out["env"] = map_json(patch.run->env);
  }
  json::object limits;
  if (patch.cpu_millicores) limits["cpu_millicores"] = *patch.cpu_millicores;
  if (patch.memory_bytes) limits["memory_bytes"] = *patch.memory_bytes;
  if (patch.disk_bytes) limits["disk_bytes"] = *patch.disk_bytes;
  if (!limits.empty()) out["limits"] = std::move(limits);
  return out;
}

json::object to_json(const CommandSpec& spec) {
  json::array argv;
  for (const std::string& word : spec.argv) argv.emplace_back(text(word));
  json::object out{{"argv", std::move(argv)}};
  if (!spec.id.get().empty()) out["id"] = spec.id.get();
  if (!spec.run.env.empty()) out["env"] = map_json(spec.run.env);
  if (spec.run.workdir) out["cwd"] = text(*spec.run.workdir);
  if (spec.run.user) out["user"] = text(*spec.run.user);
  if (spec.pty) out["pty"] = {{"rows", spec.pty->rows}, {"cols", spec.pty->cols}};
  out["timeout_s"] = seconds_json(spec.timeout_ms);
  out["idle_timeout_s"] = seconds_json(spec.idle_timeout_ms);
  out["ttl_s"] = seconds_json(spec.ttl_ms);
  if (spec.output_limit_bytes > 0) out["output_limit_bytes"] = spec.output_limit_bytes;
  out["kill_on_disconnect"] = spec.kill_on_disconnect;
  out["close_stdin"] = spec.close_stdin;
  out["end_tree"] = spec.end_tree;
  out["ignore_mismatch"] = spec.ignore_mismatch;
  return out;
}

}  // namespace cay::codec
