// The words of a line of a Dockerfile, before variables are expanded.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cay::dockerfile {

// Words between blanks. Quotes and escapes keep a blank inside a word, and stay in the word.
struct QuotedWords {
  std::vector<std::string> words;
  bool balanced = true;  // no quote is left open at the end
};
QuotedWords quoted_words(std::string_view text, char escape);

// Words between blanks, and nothing else.
std::vector<std::string> plain_words(std::string_view text);

// The text as a JSON array. Text that is no JSON is of the shell form.
struct JsonArray {
  enum class Is : std::uint8_t { kNoJson, kStrings, kOther };
  Is is = Is::kNoJson;
  std::vector<std::string> strings{};  // of kStrings; kOther: a member is not a string
};
JsonArray json_array(std::string_view text);

// The words that begin with "--" at the beginning of a text, without their quotes, and what follows
// them. The word "--" ends them.
struct LeadingFlags {
  std::vector<std::string> flags;
  std::string_view rest;
};
LeadingFlags leading_flags(std::string_view text);

}  // namespace cay::dockerfile
