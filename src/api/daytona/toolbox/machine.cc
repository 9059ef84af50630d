#include "api/daytona/toolbox/machine.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/lines.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kListening = "0A";
constexpr std::uint64_t kKibi = 1024;
constexpr int kHex = 16;
constexpr std::size_t kDigitsOfV4 = 8;
constexpr std::size_t kStateField = 3;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty()) return out;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<std::uint64_t> number_from(std::string_view text, int base = 10) {
  std::uint64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out, base);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return out;
}

// The kernel writes each four bytes of an address as the number that they are in memory. So
// 192.0.0.x ends in "0000C0", and fd63:6179:6761:7465::x begins with these digits.
bool is_cays_own(std::string_view address) {
  if (address.size() == kDigitsOfV4) return address.ends_with("0000C0");
  return address.starts_with("796163FD65746167");
}

}  // namespace

std::set<std::uint16_t> listening_ports(std::string_view text) {
  std::set<std::uint16_t> out;
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(line);
    if (words.size() <= kStateField || words[kStateField] != kListening) continue;
    const std::size_t colon = words[1].find(':');
    if (colon == std::string_view::npos || is_cays_own(words[1].substr(0, colon))) continue;
    const auto port = number_from(words[1].substr(colon + 1), kHex);
    if (port && *port > 0 && *port <= UINT16_MAX) out.insert(static_cast<std::uint16_t>(*port));
  }
  return out;
}

std::optional<DiskSpace> disk_space(std::string_view text) {
  const auto lines = lines_of(text);
  if (lines.size() < 2) return std::nullopt;
  const auto words = words_of(lines[1]);
  constexpr std::size_t kFields = 6;
  if (words.size() < kFields) return std::nullopt;
  const auto total = number_from(words[1]);
  const auto used = number_from(words[2]);
  const auto free = number_from(words[3]);
  if (!total || !used || !free) return std::nullopt;
  return DiskSpace{*total * kKibi, *used * kKibi, *free * kKibi};
}

std::optional<std::uint64_t> memory_value(std::string_view meminfo, std::string_view name) {
  for (const std::string_view line : lines_of(meminfo)) {
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(':')) continue;
    const auto words = words_of(line.substr(name.size() + 1));
    const auto value = words.empty() ? std::nullopt : number_from(words.front());
    if (value) return *value * kKibi;
  }
  return std::nullopt;
}

}  // namespace cay::api::daytona
