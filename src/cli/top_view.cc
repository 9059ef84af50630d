#include "cli/top_view.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/render.h"
#include "cli/values.h"

namespace cay::cli {

namespace json = codec::json;

namespace {

std::uint64_t number(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>() : 0;
}

std::string text(const json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string percent(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1f", value);
  return out;
}

double rate(std::uint64_t before, std::uint64_t now, double seconds) {
  if (seconds <= 0) return 0;
  return static_cast<double>(now >= before ? now - before : now) / seconds;
}

// The first `columns` columns of a line; names are ASCII, so bytes are columns.
std::string cut(const std::string& line, std::size_t columns) { return line.substr(0, columns); }

}  // namespace

std::vector<Use> uses_of(const json::object& answer) {
  std::vector<Use> out;
  for (const auto& item : answer.at("items").as_array()) {
    const auto& one = item.as_object();
    Use use;
    use.id = text(one, "sandbox_id");
    use.name = text(one, "sandbox");
    use.state = text(one, "state");
    use.cpu_usec = number(one, "cpu_usec");
    use.memory_bytes = number(one, "memory_bytes");
    if (const auto* limits = one.if_contains("limits"); limits != nullptr && limits->is_object()) {
      use.memory_limit = number(limits->get_object(), "memory_bytes");
    }
    use.pids = number(one, "pids");
    use.commands = number(one, "running_commands");
    use.bytes_in = number(one, "bytes_in");
    use.bytes_out = number(one, "bytes_out");
    out.push_back(std::move(use));
  }
  return out;
}

std::vector<TopRow> top_rows(const std::vector<Use>& before, const std::vector<Use>& now,
                             double seconds) {
  std::map<std::string, const Use*> last;
  for (const auto& use : before) last[use.id] = &use;
  std::vector<TopRow> out;
  for (const auto& use : now) {
    TopRow row{use, 0, 0, 0};
    if (const auto found = last.find(use.id); found != last.end()) {
      constexpr double kPercentOfUsec = 100.0 / 1e6;
      row.cpu_percent = rate(found->second->cpu_usec, use.cpu_usec, seconds) * kPercentOfUsec;
      row.in_per_s = rate(found->second->bytes_in, use.bytes_in, seconds);
      row.out_per_s = rate(found->second->bytes_out, use.bytes_out, seconds);
    }
    out.push_back(std::move(row));
  }
  std::sort(out.begin(), out.end(), [](const TopRow& a, const TopRow& b) {
    if (a.cpu_percent != b.cpu_percent) return a.cpu_percent > b.cpu_percent;
    if (a.use.memory_bytes != b.use.memory_bytes) return a.use.memory_bytes > b.use.memory_bytes;
    return a.use.name < b.use.name;
  });
  return out;
}

json::array top_json(const std::vector<TopRow>& rows) {
  json::array out;
  for (const auto& row : rows) {
    out.emplace_back(json::object{{"sandbox_id", row.use.id},
                                  {"sandbox", row.use.name},
                                  {"state", row.use.state},
                                  {"cpu_percent", row.cpu_percent},
                                  {"memory_bytes", row.use.memory_bytes},
                                  {"memory_limit_bytes", row.use.memory_limit},
                                  {"pids", row.use.pids},
                                  {"running_commands", row.use.commands},
                                  {"bytes_in_per_s", row.in_per_s},
                                  {"bytes_out_per_s", row.out_per_s}});
  }
  return out;
}

std::string top_table(const std::vector<TopRow>& rows) {
  std::vector<Row> lines;
  for (const auto& row : rows) {
    lines.push_back({row.use.name, row.use.state, percent(row.cpu_percent),
                     human_size(row.use.memory_bytes), human_size(row.use.memory_limit),
                     std::to_string(row.use.pids), std::to_string(row.use.commands),
                     human_size(static_cast<std::uint64_t>(row.in_per_s)) + "/s",
                     human_size(static_cast<std::uint64_t>(row.out_per_s)) + "/s"});
  }
  return table({"SANDBOX", "STATE", "CPU %", "MEMORY", "LIMIT", "PIDS", "COMMANDS", "IN", "OUT"},
               lines);
}

std::string top_screen(const std::string& title, const std::vector<TopRow>& rows,
                       sdk::TerminalSize size) {
  constexpr const char* kToTop = "\x1b[H";
  constexpr const char* kClearLine = "\x1b[K";
  constexpr const char* kClearBelow = "\x1b[J";
  std::string out = kToTop;
  const std::string body = printable(title) + "\n\n" + top_table(rows);
  std::size_t begin = 0;
  for (std::size_t line = 0; line < size.rows && begin < body.size(); ++line) {
    const std::size_t end = body.find('\n', begin);
    if (line > 0) out += "\r\n";
    out += cut(body.substr(begin, end - begin), size.cols) + kClearLine;
    begin = end == std::string::npos ? body.size() : end + 1;
  }
  return out + kClearBelow;
}

}  // namespace cay::cli
