// The parameters of a tool, and the arguments of one call. One declaration gives the JSON schema
// that clients see and the check of what they send.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace cay::api::mcp {

namespace json = codec::json;

struct Param {
  enum class Type { kText, kInteger, kNumber, kFlag, kTexts, kMap } type = Type::kText;
  std::string_view name;
  std::string_view about;  // for the model that calls the tool
  bool required = false;
  // These bound the bytes of a text, the value of a number, or the entries of a list or a map.
  std::int64_t min = 0, max = 0;
  std::vector<std::string_view> one_of{};  // a text: empty: any
};

// Bounds of the texts of a call.
inline constexpr std::int64_t kMostName = 256;              // bytes
inline constexpr std::int64_t kMostPath = 4096;             // bytes: PATH_MAX of Linux
inline constexpr std::int64_t kMostLine = 1 << 20;          // bytes of a command or a pattern
inline constexpr std::int64_t kMostEntries = 256;           // of a list or a map
inline constexpr std::int64_t kMostEntryText = 128 * 1024;  // bytes of one of its texts

// Helpers for the table of tools.
Param text(std::string_view name, std::string_view about, std::int64_t most = kMostName);
Param integer(std::string_view name, std::string_view about, std::int64_t min, std::int64_t max);
Param number(std::string_view name, std::string_view about, std::int64_t min, std::int64_t max);
Param flag(std::string_view name, std::string_view about);
Param texts(std::string_view name, std::string_view about);
Param map(std::string_view name, std::string_view about);
Param needed(Param param);

// Returns the schema as an object of JSON Schema, which all versions of MCP read.
json::object schema_of(const std::vector<Param>& params);

// Returns what is wrong with the arguments, each complaint with its name. Empty: nothing.
std::string wrong_with(const json::object& arguments, const std::vector<Param>& params);

// Reads arguments that were checked. A missing one is what the caller gives instead.
class Arguments {
 public:
  explicit Arguments(json::object values = {}) : values_(std::move(values)) {}

  bool has(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  bool flag(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  // Returns the value as it came. Null: it is missing.
  json::value value(std::string_view name) const;

 private:
  json::object values_;
};

}  // namespace cay::api::mcp
