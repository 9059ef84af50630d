#include "runtime/keeper/convert.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/secret.h"
#include "wire/start_identity.h"

namespace cay::runtime {
namespace {

constexpr char kTraceBehind = '\n';  // in the wire's mark, the model's of which is one line

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* kDefaultLang = "C.UTF-8";

StreamExtent to_model(const wire::ExtentMsg& extent) {
  return StreamExtent{.bytes = extent.bytes,
                      .end_offset = extent.end_offset,
                      .gap_begin = extent.gap_begin,
                      .gap_end = extent.gap_end};
}

CommandState state_of(std::uint8_t raw) {
  const bool known = raw >= static_cast<std::uint8_t>(CommandState::kRunning) &&
                     raw <= static_cast<std::uint8_t>(CommandState::kLost);
  return known ? static_cast<CommandState>(raw) : CommandState::kLost;
}

FileKind kind_of(std::uint8_t raw) {
  const bool known = raw >= static_cast<std::uint8_t>(FileKind::kFile) &&
                     raw <= static_cast<std::uint8_t>(FileKind::kOther);
  return known ? static_cast<FileKind>(raw) : FileKind::kOther;
}

}  // namespace

bool is_plausible(const wire::CommandMsg& message) {
  constexpr std::size_t kLongestWords = 16 * 1024;  // a path is at most 4 KiB
  constexpr std::size_t kLongestArgv =
      64 * 1024;  // keepers shorten them to 16 KiB (keeper/long_arguments.h)
  if (!is_valid_command_id(message.command_id)) return false;
  std::size_t argv = 0;
  for (const std::string& argument : message.argv) argv += sizeof(std::string) + argument.size();
  if (argv > kLongestArgv) return false;
  const auto is_short = [](const std::string* text) { return text->size() <= kLongestWords; };
  return std::ranges::all_of(std::array{&message.cwd, &message.user, &message.mark, &message.by,
                                        &message.reason, &message.witness},
                             is_short);
}

Command to_model(wire::CommandMsg message) {
  Command command;
  command.id = CommandId(std::move(message.command_id));
  command.argv = std::move(message.argv);
  command.argv_truncated = message.argv_truncated;
  command.pid = message.pid;
  command.pty = message.pty;
  command.known = message.known;
  command.started_at = message.started_at;
  command.cwd = std::move(message.cwd);
  command.user = std::move(message.user);
  command.timeout_ms = message.timeout_ms;
  const auto line = message.mark.find(kTraceBehind);
  command.mark = message.mark.substr(0, line);
  if (line != std::string::npos) command.trace = message.mark.substr(line + 1);
  CommandEnd& end = command.end;
  end.state = state_of(message.state);
  end.exit_code = static_cast<int>(message.exit_code);
  end.signal = static_cast<int>(message.signal);
  end.by = std::move(message.by);
  end.reason = std::move(message.reason);
  if (end.state == CommandState::kLost && end.reason.empty())
    end.reason = "unknown state " + std::to_string(message.state);
  end.oom_kills = message.oom_kills;
  end.tmpfs_bytes = message.tmpfs_bytes;
  if (!message.witness.empty()) end.witness = std::move(message.witness);
  end.ended_at = message.ended_at;
  end.cpu_usec = message.cpu_usec;
  end.max_rss_bytes = message.max_rss_bytes;
  command.out = to_model(message.out);
  command.err = to_model(message.err);
  return command;
}

FileInfo to_model(const wire::FileInfoMsg& message) {
  std::map<std::string, std::string> xattrs;
  for (const wire::XattrMsg& one : message.xattrs) xattrs[one.name] = one.value;
  return FileInfo{.path = message.path,
                  .kind = kind_of(message.kind),
                  .size = message.size,
                  .mode = message.mode,
                  .uid = message.uid,
                  .gid = message.gid,
                  .mtime_ns = message.mtime_ns,
                  .inode = message.inode,
                  .target = message.target,
                  .owner = message.owner,
                  .group = message.group,
                  .xattrs = std::move(xattrs)};
}

wire::FileInfoMsg to_wire(const FileInfo& info) {
  return wire::FileInfoMsg{.path = info.path,
                           .kind = static_cast<std::uint8_t>(info.kind),
                           .size = info.size,
                           .mode = info.mode,
                           .uid = info.uid,
                           .gid = info.gid,
                           .mtime_ns = info.mtime_ns,
                           .inode = info.inode,
                           .target = info.target};
}

std::optional<core::LayerEntry> to_model(const wire::LayerEntryMsg& message) {
  const auto kind = static_cast<core::EntryKind>(message.kind);
  if (kind < core::EntryKind::kFile || kind > core::EntryKind::kOpaque) return std::nullopt;
  core::LayerEntry entry{.path = message.path,
                         .kind = kind,
                         .size = message.size,
                         .mode = message.mode,
                         .uid = message.uid,
                         .gid = message.gid,
                         .mtime_ns = message.mtime_ns,
                         .target = message.target,
                         .xattrs = {}};
  for (const wire::XattrMsg& one : message.xattrs) entry.xattrs[one.name] = one.value;
  return entry;
}

wire::LayerEntryMsg to_wire(const core::LayerEntry& entry) {
  wire::LayerEntryMsg message{.path = entry.path,
                              .kind = static_cast<std::uint8_t>(entry.kind),
                              .size = entry.size,
                              .mode = entry.mode,
                              .uid = entry.uid,
                              .gid = entry.gid,
                              .mtime_ns = entry.mtime_ns,
                              .target = entry.target,
                              .xattrs = {}};
  for (const auto& [name, value] : entry.xattrs) message.xattrs.push_back({name, value});
  return message;
}

core::SandboxStats to_model(const wire::StatsMsg& message) {
  std::optional<std::int64_t> quiet;
  if (message.quiet_ms >= 0) quiet = message.quiet_ms;
  return core::SandboxStats{.cpu_usec = message.cpu_usec,
                            .memory_bytes = message.memory_bytes,
                            .tmpfs_bytes = message.tmpfs_bytes,
                            .pids = message.pids,
                            .oom_kills = message.oom_kills,
                            .running_commands = message.running_commands,
                            .paused = message.paused,
                            .quiet_ms = quiet};
}

wire::StartCommand to_wire(const CommandSpec& spec) {
  wire::StartCommand start;
  // Every other member, the frame's own heads and the two variables added below.
  constexpr std::size_t kRest = 64 * 1024;
  static_assert(kMaxCommandBytes + kRest <= wire::kMaxStartPayload,
                "what the core lets through fits into a frame");
  start.argv = spec.argv;
  start.shell_line = spec.shell_line;
  for (const auto& [key, value] : spec.run.env)
    start.env.push_back(key + "=" + value);  // a map: sorted
  start.cwd = spec.run.workdir.value_or("");
  start.user = spec.run.user.value_or("");
  start.pty = spec.pty.has_value();
  if (spec.pty) {
    start.rows = spec.pty->rows;
    start.cols = spec.pty->cols;
  }
  start.timeout_ms = spec.timeout_ms;
  start.idle_timeout_ms = spec.idle_timeout_ms;
  start.ttl_ms = spec.ttl_ms;
  start.kill_on_disconnect = spec.kill_on_disconnect;
  start.close_stdin = spec.close_stdin;
  start.end_tree = spec.end_tree;
  start.spool_limit = spec.output_limit_bytes;
  start.digest = to_hex(hash_secret(wire::identity_of(start)));
  start.command_id = spec.id.get();
  start.ignore_mismatch = spec.ignore_mismatch;
  start.reader_follows = spec.reader_follows;
  start.mark = spec.mark;
  if (!spec.trace.empty()) start.mark += kTraceBehind + spec.trace;
  if (!spec.traceparent.empty() && !spec.run.env.contains("TRACEPARENT")) {
    start.env.push_back("TRACEPARENT=" + spec.traceparent);
  }
  if (!spec.run.env.contains("PATH")) start.env.push_back(std::string("PATH=") + kDefaultPath);
  if (!spec.run.env.contains("LANG")) start.env.push_back(std::string("LANG=") + kDefaultLang);
  return start;
}

}  // namespace cay::runtime
