// Usage counts the resources that a sandbox has used since it was made, over all its starts.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"

namespace cay {

struct UsageTotals {
  std::uint64_t cpu_usec = 0;       // of all commands, by the kernel's count
  std::uint64_t memory_mib_ms = 0;  // MiB held, over time: trapezoids between the looks
  std::uint64_t running_ms = 0;     // ready (not paused, not stopped)
  std::uint64_t bytes_in = 0;       // stdin and files, through Cay
  std::uint64_t bytes_out = 0;      // output and files, through Cay

  UsageTotals& operator+=(const UsageTotals& more) {
    cpu_usec += more.cpu_usec;
    memory_mib_ms += more.memory_mib_ms;
    running_ms += more.running_ms;
    bytes_in += more.bytes_in;
    bytes_out += more.bytes_out;
    return *this;
  }
  bool operator==(const UsageTotals&) const = default;
};

// One sandbox's totals and the kernel's counters when they were last looked at. The counters begin
// at zero with each start; what was counted before a look is in the totals.
struct UsageRow {
  SandboxId sandbox_id;
  TenantId tenant;
  std::map<std::string, std::string> labels;
  UsageTotals totals;
  std::int64_t looked_at = 0;      // LifeMillis, the timeline of timers; 0: it does not run
  std::uint64_t cpu_usec = 0;      // then, of this life
  std::uint64_t memory_bytes = 0;  // then
};

struct UsageQuery {
  std::vector<std::pair<std::string, std::optional<std::string>>>
      labels;            // key or key=value, ANDed
  std::string group_by;  // a label's key; empty: no groups
};

struct UsageSum {
  std::uint64_t sandboxes = 0;  // that are counted, deleted ones too
  UsageTotals totals;
};

struct UsageReport {
  UsageSum all;
  std::map<std::string, UsageSum> groups;  // by the value of group_by; those without it under ""
};

// Adds `sum` to the report if the query includes sandboxes with these labels.
void add(UsageReport& report, const UsageQuery& query,
         const std::map<std::string, std::string>& labels, const UsageSum& sum);

}  // namespace cay
