// LineReader: the lines of a Dockerfile as instructions have them: continued lines are one, and
// comments and empty lines are gone.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::dockerfile {

struct LogicalLine {
  int number = 0;    // of its first line in the file, from 1
  std::string text;  // without blanks at its ends
};

// The text outlives the reader.
class LineReader {
 public:
  // Reads the directives at the beginning: `# syntax=` and `# check=` mean nothing here, `#
  // escape=` sets the character that continues a line.
  static Result<LineReader> open(std::string_view text);

  char escape() const { return escape_; }

  // Returns the next line; nothing at the end.
  std::optional<LogicalLine> next();

  // Returns the lines up to the one that is `name` alone; nothing if there is no such line. Tabs
  // before `name` count with `after_tabs` only.
  std::optional<std::string> heredoc(std::string_view name, bool after_tabs);

 private:
  explicit LineReader(std::string_view text) : rest_(text) {}
  Result<void> read_directives();
  std::optional<std::string_view> physical();  // with its line ending
  bool continues(std::string_view& line) const;

  std::string_view rest_;
  int number_ = 0;
  char escape_ = '\\';
};

}  // namespace cay::dockerfile
