// Frames of files that a keeper appends to, by which a torn write shows: u32 length | u64 FNV-1a of
// the payload | payload, little-endian. They protect against torn writes, not against forgers: the
// keeper is the writer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cay::wire {

inline constexpr std::size_t kCheckedHead = 12;

void append_checked(std::string& out, std::string_view payload);

// The payload of the frame that `file` begins with; nullopt if it is short or does not match its
// sum.
std::optional<std::string_view> first_checked(std::string_view file);

// Returns the payload's length by the frame that `file` begins with. nullopt: not even that is
// there.
std::optional<std::uint32_t> checked_length(std::string_view file);

}  // namespace cay::wire
