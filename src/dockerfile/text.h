// Errors of this room, and text of a Dockerfile as a message may show it.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"

namespace cay::dockerfile {

inline constexpr std::string_view kBlanks = " \t\v\f\r";

constexpr bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

// Returns at most 80 bytes of the text, with a "?" for each control character.
std::string shown(std::string_view text);

// The Dockerfile is wrong at this line.
Error wrong_at(int line, std::string_view what);

// The Dockerfile may be right, and Cay does not build it. `what` names the instruction or option.
Error refused_at(int line, std::string_view what);

}  // namespace cay::dockerfile
