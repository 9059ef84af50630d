// The lines that drivers write: what events and the ledger have in common. Each line is a claim of
// the sandbox. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "model/context.h"

namespace cay::code {

inline constexpr std::size_t kLongestRunId = 64;  // the id of an evaluation

// False: the member is missing or is no text.
bool read_text(const codec::json::object& from, std::string_view name, std::string& out);
// A number that may be missing. False: it is none.
bool read_count(const codec::json::object& from, std::string_view name, std::uint64_t& out);

struct Ending {
  EvaluationState state = EvaluationState::kRunning;
  // Those of shells alone.
  std::optional<std::uint32_t> exit_code{};
  std::string cwd{};
  bool shell_ended = false;
};
// Reads a line "done". nullopt: it cannot be read.
std::optional<Ending> ending_from(const codec::json::object& from);

// The id and the type of a line of another evaluation, by its first bytes. Both are views of
// `line`. nullopt: it is no such line.
struct LineHead {
  std::string_view run;
  std::string_view type;
};
std::optional<LineHead> head_of(std::string_view line);

}  // namespace cay::code
