#include "cli/agent_diff.h"

#include <algorithm>
#include <cstdint>

#include "base/lines.h"

namespace cay::cli {
namespace {

using Lines = std::vector<std::string_view>;

// The middle of two texts, by their longest common subsequence.
void add_middle(const Lines& from, const Lines& to, std::vector<DiffLine>& out) {
  constexpr std::size_t kMostCells = 4'000'000;
  const std::size_t wide = to.size() + 1;
  if ((from.size() + 1) * wide > kMostCells) {
    for (const auto line : from) out.push_back({'-', line});
    for (const auto line : to) out.push_back({'+', line});
    return;
  }
  // common[i * wide + j]: the longest of from[i…] and to[j…].
  std::vector<std::uint32_t> common((from.size() + 1) * wide, 0);
  for (std::size_t i = from.size(); i-- > 0;) {
    for (std::size_t j = to.size(); j-- > 0;) {
      common[i * wide + j] = from[i] == to[j]
                                 ? common[(i + 1) * wide + j + 1] + 1
                                 : std::max(common[(i + 1) * wide + j], common[i * wide + j + 1]);
    }
  }
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      out.push_back({' ', from[i]});
      ++i;
      ++j;
    } else if (j == to.size() ||
               (i < from.size() && common[(i + 1) * wide + j] >= common[i * wide + j + 1])) {
      out.push_back({'-', from[i++]});
    } else {
      out.push_back({'+', to[j++]});
    }
  }
}

}  // namespace

std::vector<DiffLine> line_diff(std::string_view before, std::string_view after) {
  Lines from = lines_of(before), to = lines_of(after);
  const auto [from_end, to_end] = std::ranges::mismatch(from, to);
  std::vector<DiffLine> out;
  for (auto line = from.begin(); line != from_end; ++line) out.push_back({' ', *line});
  from.erase(from.begin(), from_end);
  to.erase(to.begin(), to_end);
  Lines tail;
  while (!from.empty() && !to.empty() && from.back() == to.back()) {
    tail.push_back(from.back());
    from.pop_back();
    to.pop_back();
  }
  add_middle(from, to, out);
  for (auto line = tail.rbegin(); line != tail.rend(); ++line) out.push_back({' ', *line});
  return out;
}

std::vector<DiffLine> hunks(const std::vector<DiffLine>& diff, std::size_t context) {
  std::vector<bool> kept(diff.size(), false);
  for (std::size_t i = 0; i < diff.size(); ++i) {
    if (diff[i].kind == ' ') continue;
    const std::size_t first = i > context ? i - context : 0;
    const std::size_t last = std::min(diff.size() - 1, i + context);
    for (std::size_t k = first; k <= last; ++k) kept[k] = true;
  }
  std::vector<DiffLine> out;
  for (std::size_t i = 0; i < diff.size(); ++i) {
    if (kept[i]) {
      out.push_back(diff[i]);
    } else if (!out.empty() && out.back().text != "…") {
      out.push_back({' ', "…"});
    }
  }
  if (!out.empty() && out.back().text == "…") out.pop_back();
  return out;
}

}  // namespace cay::cli
