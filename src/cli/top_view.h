// The screen of `cay top`, from two looks. Pure.
#pragma once
#include <string>
#include <vector>

#include "cay/types.h"
#include "codec/json.h"

namespace cay::cli {

// One sandbox of GET /api/v1/stats.
struct Use {
  std::string id, name, state;
  std::uint64_t cpu_usec = 0, memory_bytes = 0, memory_limit = 0, bytes_in = 0, bytes_out = 0;
  std::uint64_t pids = 0, commands = 0;
};
std::vector<Use> uses_of(const codec::json::object& answer);

struct TopRow {
  Use use;
  double cpu_percent = 0;  // of one CPU, since the look before
  double in_per_s = 0, out_per_s = 0;
};
// Busiest first. A sandbox that was not in the look before, or started anew since, counts from
// zero.
std::vector<TopRow> top_rows(const std::vector<Use>& before, const std::vector<Use>& now,
                             double seconds);

codec::json::array top_json(const std::vector<TopRow>& rows);
std::string top_table(const std::vector<TopRow>& rows);
// Returns one screen, drawn over the last one. Each line is cleared behind its text, and so is the
// rest below the table. No line is longer than the screen, and no more lines are there.
std::string top_screen(const std::string& title, const std::vector<TopRow>& rows,
                       sdk::TerminalSize size);

}  // namespace cay::cli
