// Written: the ways in which a server may write a secret into what it answers.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/sealed_box.h"

namespace cay::vault {

// Of a longer secret its beginning is what is looked for: so what must be kept of a stream to find one stays small.
inline constexpr std::size_t kMostSought = 1024;
inline constexpr std::size_t kMostWays = 64;
inline constexpr std::size_t kMostGrowth = 6;    // bytes for one of the secret, as in \u0041
inline constexpr std::size_t kLeastWritten = 8;  // shorter ones cannot be told from chance

// In clear, and in base64 (both alphabets, wherever it stands in a group), hexadecimal digits, UTF-16,
// percent-encoding, JSON strings and HTML: each as the usual writers do it, escaping what they must, and with every
// byte escaped. Each once; how long the longest is depends on the secret's length alone.
std::vector<Wiped> written(std::string_view secret);

}  // namespace cay::vault
