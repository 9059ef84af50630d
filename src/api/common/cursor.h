// Page cursors: opaque to clients, and bound to the query that made them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cay::api {

// `query` is the page's filters and order, in any stable spelling.
std::string cursor_at(std::uint32_t offset, std::string_view query);
// nullopt: no cursor of ours, or of another query.
std::optional<std::uint32_t> offset_of_cursor(std::string_view cursor, std::string_view query);

}  // namespace cay::api
