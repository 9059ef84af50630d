// Making any bytes showable.
#pragma once
#include <string>
#include <string_view>

namespace cay::keeper {

// `bytes` as valid UTF-8 of at most `limit` bytes: what is not becomes U+FFFD, and the cut never
// divides a character.
std::string valid_utf8(std::string_view bytes, std::size_t limit);

}  // namespace cay::keeper
