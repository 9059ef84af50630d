#include "cli/render.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "cli/values.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "codec/utf8.h"

namespace cay::cli {

namespace json = codec::json;

std::string shell_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + out + "'";
}

std::string printable(std::string_view text, Newlines newlines) {
  std::string out;
  const auto escape = [&out](unsigned char byte) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
    out += escaped;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F
      escape(byte);
      escape(next);
      ++i;
    } else if (byte == '\n' && newlines == Newlines::kKept) {
      out.push_back('\n');
    } else if (byte < 0x20 || byte == 0x7f) {
      escape(byte);
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string table(const Row& head, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(head.size());
  std::vector<Row> lines{head};
  for (const auto& row : rows) {
    Row clean;
    for (const auto& cell : row) clean.push_back(printable(cell));
    lines.push_back(std::move(clean));
  }
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      out += line[i];
      if (i + 1 < line.size()) out.append(widths[i] - line[i].size() + 2, ' ');
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

namespace {

std::string short_time(const std::string& rfc3339) {  // to the second, as it is in UTC
  constexpr std::size_t kToTheSecond = 19;
  if (rfc3339.size() < kToTheSecond) return "-";
  std::string out = rfc3339.substr(0, kToTheSecond) + "Z";
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  constexpr std::size_t kWide = 60;
  if (out.size() > kWide) out = out.substr(0, kWide - 3) + "...";
  return out;
}

std::string cpus(std::uint32_t millicores) {
  char text[16];
  std::snprintf(text, sizeof text, "%g", millicores / 1000.0);
  return text;
}

void put_bytes(json::object& out, const std::string& name, const std::string& bytes) {
  if (codec::is_utf8(bytes)) {
    out[name] = bytes;
  } else {
    out[name + "_base64"] = codec::base64(bytes);
  }
}

json::value gap_json(const std::optional<sdk::ResultGap>& gap) {
  if (!gap) return nullptr;
  return json::object{{"offset", gap->offset},
                      {"length", gap->length},
                      {"at", gap->at},
                      {"note_bytes", gap->note_bytes}};
}

json::value maybe(const std::optional<int>& number) {
  if (number) return *number;
  return nullptr;
}

}  // namespace

std::string sandbox_table(const std::vector<sdk::SandboxInfo>& items) {
  std::vector<Row> rows;
  for (const auto& item : items) {
    std::string labels;
    for (const auto& [key, value] : item.labels)
      labels += (labels.empty() ? "" : ",") + key + "=" + value;
    rows.push_back({item.name, item.state, cpus(item.limits.cpu_millicores),
                    human_size(item.limits.memory_bytes), short_time(item.created_at), labels});
  }
  return table({"NAME", "STATE", "CPUS", "MEMORY", "CREATED", "LABELS"}, rows);
}

std::string command_table(const std::vector<sdk::CommandInfo>& items) {
  std::vector<Row> rows;
  for (const auto& item : items) {
    const std::string end = item.running() ? "-" : std::to_string(item.shell_exit_code());
    rows.push_back({item.id, item.state, end, human_size(item.out.bytes + item.err.bytes),
                    short_time(item.started_at), joined(item.argv)});
  }
  return table({"ID", "STATE", "EXIT", "OUTPUT", "STARTED", "COMMAND"}, rows);
}

namespace {

// The lines after the first stand below it: a remedy may be a piece of a settings file.
std::string indented(const std::string& text) {
  std::string out;
  for (const char c : printable(text, Newlines::kKept))
    out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return out;
}

}  // namespace

std::string doctor_table(const std::vector<sdk::Feature>& items) {
  std::vector<Row> rows;
  std::string remedies, additions;
  for (const auto& item : items) {
    rows.push_back({item.ok ? "ok" : "MISSING", item.name, item.found, item.fallback});
    if (!item.remedy.empty())
      (item.ok ? additions : remedies) +=
          "  " + printable(item.name) + ": " + indented(item.remedy) + "\n";
  }
  std::string out = table({"", "FEATURE", "FOUND", "USED INSTEAD"}, rows);
  if (!remedies.empty()) out += "\nWhat mends it:\n" + remedies;
  if (!additions.empty()) out += "\nWhat could be added:\n" + additions;
  return out;
}

namespace {

std::string listed(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

// As a shell would take them.
std::string quoted(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const auto& word : words) out.push_back(shell_quoted(word));
  return listed(out, " ");
}

std::string source_of(const sdk::Snapshot& snapshot) {
  if (snapshot.origin == "host") return "this host";
  if (snapshot.origin == "image") return snapshot.image;
  if (snapshot.origin == "capture")
    return "capture" + (snapshot.source_sandbox.empty() ? "" : " of " + snapshot.source_sandbox);
  return snapshot.origin;
}

}  // namespace

std::string snapshot_table(const std::vector<sdk::Snapshot>& items) {
  std::vector<Row> rows;
  for (const auto& item : items) {
    rows.push_back({item.name, listed(item.tags, ","), item.status, human_size(item.used_bytes),
                    human_size(item.own_bytes), source_of(item), short_time(item.created_at),
                    item.id});
  }
  return table({"NAME", "TAGS", "STATUS", "SIZE", "OWN", "FROM", "CREATED", "ID"}, rows);
}

std::string snapshot_ref(const sdk::Snapshot& snapshot) {
  if (!snapshot.tags.empty()) return snapshot.name + ":" + snapshot.tags.front();
  return snapshot.origin == "host" ? snapshot.name : snapshot.id;
}

std::string snapshot_report(const sdk::Snapshot& snapshot) {
  std::string out;
  const auto line = [&out](const std::string& name, const std::string& value) {
    if (value.empty()) return;
    constexpr std::size_t kWide = 13;
    out += name + std::string(kWide - name.size(), ' ') + printable(value) + "\n";
  };
  const sdk::ImageConfig& config = snapshot.config;
  line("Name", snapshot.name);
  line("Tags", listed(snapshot.tags, ", "));
  line("Id", snapshot.id);
  line("Status", snapshot.status);
  line("Message", snapshot.status_message);
  line("From", source_of(snapshot));
  line("Digest", snapshot.digest);
  line("Size", human_size(snapshot.used_bytes));
  line("Own", human_size(snapshot.own_bytes) + " that no other snapshot has");
  line("Created", short_time(snapshot.created_at));
  line("User", config.user);
  line("Directory", config.workdir);
  line("Entrypoint", quoted(config.entrypoint));
  line("Command", quoted(config.command));
  line("Ports", listed(config.ports, ", "));
  for (const auto& [name, value] : config.env) line("Variable", name + "=" + value);
  for (const auto& [name, value] : config.labels) line("Label", name + "=" + value);
  return out;
}

std::string stats_table(const std::vector<NamedStats>& items) {
  std::vector<Row> rows;
  for (const auto& [name, stats] : items) {
    char cpu[32];
    std::snprintf(cpu, sizeof cpu, "%.2f s", static_cast<double>(stats.cpu_usec) / 1e6);
    rows.push_back({name, cpu, human_size(stats.memory_bytes), human_size(stats.tmpfs_bytes),
                    std::to_string(stats.pids), std::to_string(stats.running_commands),
                    std::to_string(stats.oom_kills)});
  }
  return table({"NAME", "CPU TIME", "MEMORY", "IN TMPFS", "PIDS", "COMMANDS", "OOM KILLS"}, rows);
}

std::string result_json(const sdk::CommandResult& result, std::optional<json::array> refused) {
  const auto& command = result.command;
  json::object out{{"state", command.state},
                   {"exit_code", maybe(command.exit_code)},
                   {"signal", maybe(command.signal)},
                   {"by", command.by},
                   {"reason", command.reason},
                   {"shell_exit_code", command.shell_exit_code()},
                   {"stdout_bytes", command.out.bytes},
                   {"stderr_bytes", command.err.bytes},
                   {"truncated", result.truncated},
                   {"oom_kills", command.oom_kills},
                   {"tmpfs_bytes", command.tmpfs_bytes},
                   {"command_id", command.id},
                   {"sandbox", result.sandbox}};
  put_bytes(out, "stdout", result.out);
  put_bytes(out, "stderr", result.err);
  out["stdout_gap"] = gap_json(result.out_gap);
  out["stderr_gap"] = gap_json(result.err_gap);
  if (refused) out["network_refused"] = *std::move(refused);
  return codec::write(out) + "\n";
}

namespace {

json::object error_object(const ApiError& error) {
  return {{"code", std::string(to_string(error.code()))},
          {"reason", error.reason()},
          {"message", codec::text(error.what())}};
}

}  // namespace

std::string copy_json(const sdk::CopyReport& report) {
  json::array left_out;
  for (const auto& one : report.skipped) {
    json::object item;
    put_bytes(item, "path", one.path);
    item["reason"] = codec::text(one.reason);
    left_out.push_back(std::move(item));
  }
  return codec::write(json::object{{"bytes", report.moved.bytes},
                                   {"entries", report.moved.files},
                                   {"left_out_count", report.left_out},
                                   {"left_out", std::move(left_out)}}) +
         "\n";
}

std::string error_json(const ApiError& error) {
  return codec::write(json::object{{"error", error_object(error)}}) + "\n";
}

std::string json_item(const std::string& ref, const char* kind) {
  return codec::write(json::object{{kind, codec::text(ref)}});
}

std::string json_item(const std::string& ref, const ApiError& error, const char* kind) {
  return codec::write(json::object{{kind, codec::text(ref)}, {"error", error_object(error)}});
}

std::string features_json(const std::vector<sdk::Feature>& items, bool daemon) {
  json::array features;
  for (const auto& item : items) {
    features.push_back({{"name", item.name},
                        {"ok", item.ok},
                        {"found", item.found},
                        {"fallback", item.fallback},
                        {"remedy", item.remedy}});
  }
  const bool ok = std::ranges::all_of(items, &sdk::Feature::ok);
  return codec::write(
             json::object{{"daemon", daemon}, {"ok", ok}, {"features", std::move(features)}}) +
         "\n";
}

std::string stats_json(const std::vector<NamedStats>& items) {
  json::array out;
  for (const auto& [name, stats] : items) {
    out.push_back({{"sandbox", name},
                   {"cpu_usec", stats.cpu_usec},
                   {"memory_bytes", stats.memory_bytes},
                   {"tmpfs_bytes", stats.tmpfs_bytes},
                   {"pids", stats.pids},
                   {"oom_kills", stats.oom_kills},
                   {"running_commands", stats.running_commands}});
  }
  return codec::write(out) + "\n";
}

std::string json_array(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? "," : "") + item;
  return out + "]\n";
}

std::string json_object(const std::vector<std::pair<std::string, std::string>>& strings) {
  json::object out;
  for (const auto& [name, value] : strings) out[name] = codec::text(value);
  return codec::write(out) + "\n";
}

std::string end_sentence(const sdk::CommandInfo& command) {
  if (command.state == "oom_killed") {
    std::string out = "out of memory: the kernel killed the command at the sandbox's memory limit";
    if (command.tmpfs_bytes > 0)
      out += "; files in memory (/dev/shm, --tmpfs) held " + human_size(command.tmpfs_bytes) +
             " of it";
    return out;
  }
  if (command.state == "timed_out") {
    std::string out = "timed out: the command and all it started were killed";
    // A program that waits for a worker that was killed for memory only ends at its time limit.
    if (command.oom_kills > 0) {
      out += "; before, the kernel killed " + std::to_string(command.oom_kills) +
             " process(es) of it at the sandbox's memory limit";
    }
    return out;
  }
  if (command.state == "idle_killed") return "killed: nobody read its output for its idle timeout";
  // Ctrl-C and a reader that went need no words: the user did it.
  if (command.state == "killed" && (command.signal == SIGINT || command.signal == SIGPIPE))
    return {};
  if (command.state == "killed") return "killed" + (command.by.empty() ? "" : " by " + command.by);
  if (command.state == "lost")
    return "lost: " + (command.reason.empty() ? "the sandbox is gone" : command.reason);
  if (command.state == "signalled" && command.signal != SIGINT && command.signal != SIGPIPE) {
    // A shell prints the signal, too. 128+N alone could be the program's own exit code.
    const char* name = command.signal ? ::sigabbrev_np(*command.signal) : nullptr;
    std::string out = "ended by signal " + std::to_string(command.signal.value_or(0)) +
                      (name == nullptr ? "" : std::string(" (SIG") + name + ")");
    if (command.oom_kills > 0)
      out += "; the kernel killed " + std::to_string(command.oom_kills) +
             " process(es) of it for memory";
    return out;
  }
  if (command.oom_kills > 0) {
    return "out of memory: the kernel killed " + std::to_string(command.oom_kills) +
           " process(es) that the command had started; it ended by itself";
  }
  return {};
}

}  // namespace cay::cli
