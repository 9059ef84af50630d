// Pages of text files: lines from an offset on, as FileVerbs::read() returns them. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "providers/backend.h"

namespace cay::providers {

inline constexpr std::size_t kMostPage = 512'000;  // bytes of a page

// Returns the page of a whole file. Fails kOutOfRange (offset_past_end).
Result<FilePage> page_of(std::string_view content, std::uint64_t offset, std::uint64_t limit);

// Returns the page of a part of a file. `part` follows the first `offset` lines, and has at most
// `limit` lines and kMostPage bytes.
FilePage page_of_part(std::string_view part, std::uint64_t offset, std::uint64_t limit,
                      std::uint64_t size);

// Whether the first 8 KiB are UTF-8 without a NUL. A character that the end cuts is no fault.
bool looks_like_text(std::string_view content);

// "Line offset 10 exceeds file length (3 lines)".
Error offset_past_end(std::uint64_t offset, std::uint64_t lines);

}  // namespace cay::providers
