#include "codec/usage_json.h"

namespace cay::codec {
namespace {

constexpr double kMillis = 1000.0;
constexpr double kMicros = 1e6;

}  // namespace

json::object to_json(const UsageTotals& totals) {
  return {{"cpu_seconds", static_cast<double>(totals.cpu_usec) / kMicros},
          {"memory_mib_seconds", static_cast<double>(totals.memory_mib_ms) / kMillis},
          {"running_seconds", static_cast<double>(totals.running_ms) / kMillis},
          {"bytes_in", totals.bytes_in},
          {"bytes_out", totals.bytes_out}};
}

json::object to_json(const UsageSum& sum) {
  return {{"sandboxes", sum.sandboxes}, {"totals", to_json(sum.totals)}};
}

}  // namespace cay::codec
