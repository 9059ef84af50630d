// The size of a guest's bytes in JSON, computed before it is built: a NUL becomes six.
#pragma once
#include <cstdint>
#include <string_view>

namespace cay::api {

// The most of collected output and files in one answer, as JSON. Routes that stream have no such
// bound.
inline constexpr std::uint64_t kMostAnswer = 64u << 20;

// As codec::text writes it, or a little more.
std::uint64_t text_size(std::string_view bytes);
// As codec::put_bytes writes it.
std::uint64_t bytes_size(std::string_view bytes);

}  // namespace cay::api
