// UTF-8: checks it, and makes it valid in Cay's one way. A maximal ill-formed subpart becomes one
// U+FFFD (Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts"), so the result does
// not depend on how the bytes were cut.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cay::codec {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// NUL is valid UTF-8.
bool is_utf8(std::string_view bytes);
std::string sanitised_utf8(std::string_view bytes);

// The same, piece by piece: holds back an incomplete sequence (at most 3 bytes).
class Utf8Sanitiser {
 public:
  // Appends what is decided by now.
  void feed(std::string_view bytes, std::string& out);
  // The end of the stream: what was held back becomes one U+FFFD.
  void finish(std::string& out);
  std::size_t held() const { return held_; }  // raw bytes held back

 private:
  char pending_[4] = {};
  std::size_t held_ = 0;
};

// The first character boundary at or after `at` in valid UTF-8.
std::size_t next_boundary(std::string_view valid, std::size_t at);
// The last character boundary at or before `at`.
std::size_t previous_boundary(std::string_view valid, std::size_t at);

// For bytes that were cut out of a stream, at most 3:
std::size_t broken_end(std::string_view bytes);    // at the end: they begin a character
std::size_t broken_begin(std::string_view bytes);  // at the beginning: they end one

}  // namespace cay::codec
