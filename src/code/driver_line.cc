#include "code/driver_line.h"

#include <utility>

namespace cay::code {
namespace {

using codec::json::object;

constexpr std::string_view kRunFront = R"({"run":")";
constexpr std::string_view kTypeFront = R"(","type":")";
constexpr std::size_t kLongestPath = 16 << 10;  // of a working directory
constexpr std::int64_t kMostExitCode = 255;

std::optional<EvaluationState> status_from(const object& from) {
  std::string status;
  if (!read_text(from, "status", status)) return std::nullopt;
  for (const EvaluationState one : {EvaluationState::kOk, EvaluationState::kError,
                                    EvaluationState::kInterrupted, EvaluationState::kTimedOut}) {
    if (status == to_string(one)) return one;
  }
  return std::nullopt;
}

}  // namespace

bool read_text(const object& from, std::string_view name, std::string& out) {
  const auto* value = from.if_contains(name);
  if (value == nullptr || !value->is_string()) return false;
  out = value->get_string();
  return true;
}

bool read_count(const object& from, std::string_view name, std::uint64_t& out) {
  const auto* value = from.if_contains(name);
  if (value == nullptr) return true;
  if (!value->is_int64() || value->get_int64() < 0) return false;
  out = static_cast<std::uint64_t>(value->get_int64());
  return true;
}

std::optional<Ending> ending_from(const object& from) {
  const auto status = status_from(from);
  if (!status) return std::nullopt;
  Ending out{.state = *status};
  if (const auto* code = from.if_contains("exit_code")) {
    if (!code->is_int64() || code->get_int64() < 0 || code->get_int64() > kMostExitCode)
      return std::nullopt;
    out.exit_code = static_cast<std::uint32_t>(code->get_int64());
  }
  if (from.contains("cwd") && (!read_text(from, "cwd", out.cwd) || out.cwd.size() > kLongestPath))
    return std::nullopt;
  const auto* ended = from.if_contains("ended");
  if (ended != nullptr && !ended->is_bool()) return std::nullopt;
  out.shell_ended = ended != nullptr && ended->get_bool();
  return out;
}

std::optional<LineHead> head_of(std::string_view line) {
  if (!line.starts_with(kRunFront)) return std::nullopt;
  line.remove_prefix(kRunFront.size());
  const std::size_t id_end = line.find('"');
  if (id_end == std::string_view::npos || id_end > kLongestRunId) return std::nullopt;
  LineHead out{.run = line.substr(0, id_end), .type = {}};
  line.remove_prefix(id_end);
  if (!line.starts_with(kTypeFront)) return std::nullopt;
  line.remove_prefix(kTypeFront.size());
  const std::size_t type_end = line.find('"');
  if (type_end == std::string_view::npos) return std::nullopt;
  out.type = line.substr(0, type_end);
  return out;
}

}  // namespace cay::code
