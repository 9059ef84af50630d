#include "os/cgroup_layout.h"

namespace cay::os {
namespace {

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t at = text.find(by);
    const std::string_view part = text.substr(0, at);
    if (!part.empty()) parts.push_back(part);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  return parts;
}

// mountinfo writes blanks and backslashes as \ooo (proc(5)).
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      const auto digit = [&](std::size_t k) { return text[i + k] - '0'; };
      out.push_back(static_cast<char>(digit(1) * 64 + digit(2) * 8 + digit(3)));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

CgroupLayout cgroup_layout_of(std::string_view mountinfo) {
  CgroupLayout layout;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 6 || after.size() < 3) continue;
    const std::string where = unescape(before[4]);
    if (after[0] == "cgroup2" && layout.v2.empty()) layout.v2 = where;
    if (after[0] != "cgroup") continue;
    for (const std::string_view option : split(after[2], ',')) {
      if (option == "memory" && layout.memory.empty()) layout.memory = where;
      if (option == "cpu" && layout.cpu.empty()) layout.cpu = where;
      if (option == "cpuacct" && layout.cpuacct.empty()) layout.cpuacct = where;
      if (option == "pids" && layout.pids.empty()) layout.pids = where;
    }
  }
  return layout;
}

std::string v2_path_of(std::string_view proc_self_cgroup) {
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    if (line.starts_with("0::")) return std::string(line.substr(3));
  }
  return {};
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view line : split(text, '\n')) {
    for (const std::string_view word : split(line, ' ')) words.emplace_back(word);
  }
  return words;
}

}  // namespace cay::os
