#include "agent/loop/harness.h"

namespace cay::agent {

std::shared_ptr<Tool> Harness::tool(const std::string& name) const {
  for (const auto& each : tools) {
    if (each->spec().name == name) return each;
  }
  return nullptr;
}

std::vector<ToolSpec> Harness::specs() const {
  std::vector<ToolSpec> out;
  out.reserve(tools.size());
  for (const auto& each : tools) out.push_back(each->spec());
  return out;
}

std::optional<double> cost_of(const ModelProfile& profile, const Usage& usage) {
  if (profile.input_price == 0 && profile.output_price == 0) return std::nullopt;
  const auto cached = usage.cache_read + usage.cache_write;
  const auto fresh = usage.input > cached ? usage.input - cached : 0;
  const double dollars = static_cast<double>(fresh) * profile.input_price +
                         static_cast<double>(usage.output) * profile.output_price +
                         static_cast<double>(usage.cache_read) * profile.cache_read_price +
                         static_cast<double>(usage.cache_write) * profile.cache_write_price;
  return dollars / 1e6;
}

std::string_view to_string(RunState state) {
  switch (state) {
    case RunState::kDone: return "done";
    case RunState::kFailed: return "failed";
    case RunState::kCancelled: return "cancelled";
    case RunState::kLimit: return "limit";
    case RunState::kSandboxLost: return "sandbox_lost";
    case RunState::kWaiting: return "waiting";
  }
  return "failed";
}

}  // namespace cay::agent
