// Text of models and tools, as a terminal may show it. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace cay::cli {

// PrintableStream: printable() for text that comes in pieces. Line breaks and tabs are kept. A
// character whose bytes come in two pieces is held back until it is whole.
class PrintableStream {
 public:
  std::string add(std::string_view piece);
  // Returns the bytes that are held back, and begins anew.
  std::string finish();

 private:
  std::string held_;
};

// Returns printable text with its line breaks and tabs. "\r\n" is a line break. If a program has
// painted over a line ("50 %\r100 %"), its last text stays.
std::string shown_lines(std::string_view text);

// Returns at most `most` bytes of one line, cut between characters. "…" stands for the rest.
std::string cut_line(std::string_view line, std::size_t most);

// Returns the first `most` lines of `text`, each after `indent`, and a line that counts the others.
std::string first_lines(std::string_view text, std::string_view indent, std::size_t most);

// Returns the arguments of a call on one line: the command of execute, the path of read_file.
// `arguments` is JSON as the model wrote it, and may be malformed.
std::string short_arguments(std::string_view tool, std::string_view arguments);

// "1234567" -> "1,234,567".
std::string grouped(std::uint64_t number);
// US dollars: "$0.0021", "$1.50".
std::string dollars(double cost);

}  // namespace cay::cli
