// The names of parts in bulk uploads and downloads (protocol reference, section 4).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cay::api::daytona {

// "files[3].path" and "files[3].file".
struct BulkName {
  std::uint32_t index = 0;
  bool is_file = false;  // otherwise a path
};
std::optional<BulkName> bulk_name(std::string_view name);

// The head of one part of a bulk download, with the empty line behind it. `length` of its content,
// if it is known. `name`: "file" or "error".
struct BulkHead {
  std::string_view name;
  std::string_view path;
  std::string_view type;
  std::optional<std::uint64_t> length;
};
std::string bulk_head(const BulkHead& head);

}  // namespace cay::api::daytona
