// Readers of the instructions of a Dockerfile: each reads the text after a keyword.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/dockerfile.h"

namespace cay::dockerfile {

// An instruction that is being read.
struct Item {
  int line = 0;
  std::string keyword;               // in capital letters
  std::vector<std::string> flags{};  // "--from=x"
  std::string_view rest{};           // what follows the flags
  char escape = '\\';
  std::vector<Heredoc> heredocs{};  // in the order of their names in `rest`
  std::vector<std::string>* notes = nullptr;
};

// Reads the delimiter `<<NAME` of a here-document; nothing if the word is something else.
std::optional<Heredoc> heredoc_of(std::string_view word, char escape);

// Returns the meaning of any instruction but FROM.
Result<Meaning> meaning_of(Item& item);

// FROM image [AS name].
Result<Stage> stage_of(const Item& item);

// The value of RUN --mount=.
Result<Mount> mount_of(int line, std::string_view options);

}  // namespace cay::dockerfile
