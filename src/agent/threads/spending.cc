#include "agent/threads/spending.h"

#include <algorithm>

namespace cay::agent {
namespace {

std::uint64_t without(std::uint64_t total, std::uint64_t former) {
  return total > former ? total - former : 0;
}

std::uint64_t count_in(const codec::json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  if (value == nullptr) return 0;
  if (const auto* number = value->if_uint64()) return *number;
  const auto* number = value->if_int64();
  return number != nullptr && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

}  // namespace

void Spending::add(const Usage& answer, std::optional<double> price) {
  usage += answer;
  cost += price.value_or(0);
  if (!price) cost_known = false;
}

Spending& Spending::operator+=(const Spending& other) {
  usage += other.usage;
  cost += other.cost;
  cost_known = cost_known && other.cost_known;
  return *this;
}

std::optional<double> Spending::known_cost() const {
  if (!cost_known) return std::nullopt;
  return cost;
}

Spending spending_in(const codec::json::object& data) {
  Spending out;
  const auto* usage = data.if_contains("usage");
  if (usage != nullptr && usage->is_object()) {
    const auto& counts = usage->get_object();
    out.usage = {count_in(counts, "input"), count_in(counts, "output"),
                 count_in(counts, "cache_read"), count_in(counts, "cache_write")};
  }
  const auto* cost = data.if_contains("cost");
  out.cost_known = cost != nullptr && cost->is_number();
  if (out.cost_known) out.cost = cost->to_number<double>();
  return out;
}

Spending beyond(const Spending& total, const Spending& former) {
  Spending out;
  out.usage.input = without(total.usage.input, former.usage.input);
  out.usage.output = without(total.usage.output, former.usage.output);
  out.usage.cache_read = without(total.usage.cache_read, former.usage.cache_read);
  out.usage.cache_write = without(total.usage.cache_write, former.usage.cache_write);
  out.cost = std::max(total.cost - former.cost, 0.0);
  out.cost_known = total.cost_known;
  return out;
}

}  // namespace cay::agent
