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

void Harness::count(const Usage& usage, codec::json::object& data) {
  const auto cost = cost_of(model->profile(), usage);
  meter->add(usage, cost);
  data["usage"] = to_json(usage);
  if (cost) data["cost"] = *cost;
}

std::optional<double> cost_of(const ModelProfile& profile, const Usage& usage) {
  if (!profile.prices) return std::nullopt;
  const auto& prices = *profile.prices;
  const auto cached = usage.cache_read + usage.cache_write;
  const auto fresh = usage.input > cached ? usage.input - cached : 0;
  const double dollars =
      static_cast<double>(fresh) * prices.input +
      static_cast<double>(usage.output) * prices.output +
      static_cast<double>(usage.cache_read) * prices.cache_read.value_or(prices.input) +
      static_cast<double>(usage.cache_write) * prices.cache_write.value_or(prices.input);
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
