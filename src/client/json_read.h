// Answers of the native API (docs/api.md) -> the SDK's values. Tolerant: a member that is missing
// or of another type is left at its default, an unknown one is ignored.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "cay/types.h"
#include "codec/json.h"

namespace cay::client {

namespace json = boost::json;

Error error_from_json(const json::object& from, Code fallback);

sdk::SandboxInfo sandbox_from(const json::object& from);
sdk::CommandInfo command_from(const json::object& from);
sdk::FileInfo file_from(const json::object& from);
sdk::Stats stats_from(const json::object& from);
sdk::ProgramEvent program_from(const json::object& from);
sdk::NetworkReport network_from(const json::object& from);
sdk::ProgramPage programs_from(const json::object& from);
sdk::Snapshot snapshot_from(const json::object& from);
sdk::PushState push_from(const json::object& from);
sdk::BuildLog build_log_from(const json::object& from);
sdk::Feature feature_from(const json::object& from);
sdk::GrepMatch match_from(const json::object& from);
sdk::Version version_from(const json::object& from);

// "" if missing, null or no string.
std::string string_in(const json::object& from, std::string_view name);
// The member `name`, which is text, or NAME_base64.
std::string bytes_in(const json::object& from, const std::string& name);
// 0 if missing, negative or no number.
std::uint64_t number_in(const json::object& from, std::string_view name);
bool bool_in(const json::object& from, std::string_view name);

// Each object in the array member `name`, read by `read`.
template <class Read>
auto list_from(const json::object& from, std::string_view name, Read read) {
  std::vector<decltype(read(from))> out;
  const auto* items = from.if_contains(name);
  if (items == nullptr || !items->is_array()) return out;
  for (const auto& item : items->get_array()) {
    if (item.is_object()) out.push_back(read(item.get_object()));
  }
  return out;
}

}  // namespace cay::client
