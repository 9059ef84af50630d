// Spending: the tokens of a model's answers and their price. Pure.
#pragma once
#include <cstdint>
#include <optional>

#include "agent/llm/message.h"
#include "codec/json.h"

namespace cay::agent {

struct Spending {
  Usage usage{};
  double cost = 0;         // US dollars of the answers whose price is known
  bool cost_known = true;  // false: the price of some answer is unknown

  void add(const Usage& answer, std::optional<double> price);
  Spending& operator+=(const Spending& other);

  std::uint64_t tokens() const { return usage.input + usage.output; }
  // Absent: the price of some answer is unknown.
  std::optional<double> known_cost() const;
  bool operator==(const Spending&) const = default;
};

// Reads the members `usage` and `cost` of an event or of a result's artifact.
Spending spending_in(const codec::json::object& data);

// Returns the part of `total` that is beyond `former`, of the same account at an earlier time.
Spending beyond(const Spending& total, const Spending& former);

}  // namespace cay::agent
