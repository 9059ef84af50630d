// Written: the ways in which a server may write a secret into what it answers.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/sealed_box.h"

namespace cay::vault {

// Of a longer secret its beginning is what is looked for: so what must be kept of a stream to find one stays small.
inline constexpr std::size_t kMostSought = 1024;
inline constexpr std::size_t kMostWays = 256;
inline constexpr std::size_t kMostGrowth = 6;  // bytes for one that is written, as in \u0041
inline constexpr std::size_t kMostRoom =
    12;  // ... for one of the secret, with what a layout adds, as in a list with a line for each
inline constexpr std::size_t kLeastWritten = 8;  // shorter ones cannot be told from chance

// In clear, and in base64 (both alphabets, wherever it stands in a group, and once more in base64, as a Basic header is
// by a server that echoes it so), hexadecimal digits (with what usually stands between), lists of bytes, the escapes of
// C, percent-encoding, JSON strings and HTML: each as the usual writers do it, escaping what they must, and with every
// byte escaped; in small letters where they may be large. Each once. What is to be found is each of them normalised
// (normaliser.h), which knows UTF-16 and line breaks.
std::vector<Wiped> written(std::string_view secret);

}  // namespace cay::vault
