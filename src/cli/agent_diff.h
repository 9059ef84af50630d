// The change of a text, by lines. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cay::cli {

struct DiffLine {
  char kind = ' ';  // ' ' stays, '-' goes, '+' comes
  std::string_view text;
  bool operator==(const DiffLine&) const = default;
};

// Returns the lines of both texts in their order, with the fewest changes. Texts of very many lines
// are compared by their equal beginnings and ends alone. The result refers to both texts.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after);

// Returns the changed lines, with at most `context` lines around each group that stay. "…" stands
// for lines that are left out.
std::vector<DiffLine> hunks(const std::vector<DiffLine>& diff, std::size_t context);

}  // namespace cay::cli
