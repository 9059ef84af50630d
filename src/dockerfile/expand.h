// Expansion of variables in a Dockerfile, as Docker does it: $X, ${X}, ${X:-word} and its
// relatives, quotes and escapes.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cay::dockerfile {

inline constexpr std::size_t kLongestWord = std::size_t{128} << 10U;   // Linux: MAX_ARG_STRLEN
inline constexpr std::size_t kLongestContent = std::size_t{4} << 20U;  // of a here-document

// Returns a variable's value; null if it is not set.
using Lookup = std::function<const std::string*(std::string_view name)>;

// Returns the word with its variables expanded, and without its quotes and escapes. Fails with
// kInvalidArgument (invalid_dockerfile), and the message has no line.
Result<std::string> expand_word(std::string_view word, const Lookup& lookup, char escape);

// The same, split at blanks. A blank in quotes does not split, one in a variable's value does.
Result<std::vector<std::string>> expand_words(std::string_view text, const Lookup& lookup,
                                              char escape);

// Expands a here-document of COPY or ADD: quotes are ordinary characters in it.
Result<std::string> expand_content(std::string_view content, const Lookup& lookup);

// Returns a word without its quotes and escapes; nothing if a quote is left open. Variables stay.
std::optional<std::string> unquoted(std::string_view word, char escape);

}  // namespace cay::dockerfile
