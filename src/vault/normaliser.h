// Normaliser: text in the one form in which secrets are looked for, so that they are found however they were laid out:
// in small letters, and without what breaks lines and sets off what stands in them.
#pragma once
#include <string>
#include <string_view>

namespace cay::vault {

class Normaliser {
 public:
  // What stood before: nothing that matters, a backslash, or a line break or comma.
  enum class After { kText, kBackslash, kBreak, kBackslashInBreak };

  explicit Normaliser(After before = After::kText) : after_(before) {}

  // Adds to `out` what `text` is, which follows what was given before. Left out are line breaks (also JSON's \n and \r, in capitals too,
  // and a soft one with its = or backslash), blanks behind a line break or a comma, backslashes before a sign or a blank (\/, \", \\\-), and NULs,
  // which are the other halves of UTF-16. The last byte of `out` may turn out to be one of these, and is taken back.
  void add(std::string_view text, std::string& out);

 private:
  After after_;
  char last_ = 0;
};

// Of a text that is whole.
std::string normalised(std::string_view text, Normaliser::After before = Normaliser::After::kText);

}  // namespace cay::vault
