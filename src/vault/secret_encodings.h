// SecretEncodings: recognises one secret in each of the encodings that the response scanner covers.
//
// The encodings are the secret as it is, and base64 at each of its three alignments. Base64 counts
// in both alphabets, with and without line breaks. In each of these, any character may be
// percent-encoded, and any may be escaped as in a JSON string.
//
// The scanner recognises no other encoding, as SECURITY.md explains.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/sealed_box.h"

namespace cay::vault {

// The scanner looks for so many bytes of a longer secret, so that it holds back little.
inline constexpr std::size_t kMostSought = 1024;
// The bytes that one byte of a secret takes at most, as in \u0041.
inline constexpr std::size_t kMostGrowth = 6;

class SecretEncodings {
 public:
  // A text to look for. White space between the characters of base64 does not count.
  struct Pattern {
    Wiped text;
    bool is_base64 = false;
  };

  explicit SecretEncodings(std::string_view secret);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  // The bytes that the secret takes at most. It depends on the secret's length alone.
  std::size_t longest() const { return longest_; }
  // Returns whether `text` begins with `pattern`, escaped or not, in at most longest() bytes.
  bool begins(std::string_view text, const Pattern& pattern) const;

 private:
  std::vector<Pattern> patterns_;
  std::size_t longest_;
};

// How a text may escape its characters.
enum class Escaping { kNone, kPercent, kJson };

// One character of a text, as it is after unescaping. A size of 0 means that the text ends first.
struct Character {
  char value = 0;
  std::size_t size = 0;  // bytes of the text
};
// Returns the first character. An invalid escape is taken literally.
Character first_character(std::string_view text, Escaping escaping);

}  // namespace cay::vault
