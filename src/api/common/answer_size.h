// How large bytes of a guest's become in an answer of JSON, told before it is built: a NUL is six.
#pragma once
#include <cstdint>
#include <string_view>

namespace cay::api {

// The most of collected output and files in one answer, as JSON. What is larger is for the routes that stream.
inline constexpr std::uint64_t kMostAnswer = 64u << 20;

// As codec::text writes it, or a little more.
std::uint64_t text_size(std::string_view bytes);
// As codec::put_bytes writes it.
std::uint64_t bytes_size(std::string_view bytes);

}  // namespace cay::api
