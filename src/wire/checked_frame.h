// Frames of files that a keeper appends to, so that a torn write never makes a lie:
// u32 length | u64 FNV-1a of the payload | payload, little-endian. Against torn writes, not against
// forgers: who writes is the keeper.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cay::wire {

inline constexpr std::size_t kCheckedHead = 12;

void append_checked(std::string& out, std::string_view payload);

// The payload of the frame that `file` begins with; nullopt if it is short or does not match its sum.
std::optional<std::string_view> first_checked(std::string_view file);

// What the frame that `file` begins with says of its payload's length; nullopt: not even that is there.
std::optional<std::uint32_t> checked_length(std::string_view file);

}  // namespace cay::wire
