#include "code/module_syntax.h"

#include <algorithm>

namespace cay::code {
namespace {

// `import(...)` and `import.meta` are expressions.
bool begins_declaration(std::string_view line, std::string_view word) {
  if (!line.starts_with(word) || line.size() == word.size()) return false;
  constexpr std::string_view kBehind = " \t{*\"'";
  return kBehind.find(line[word.size()]) != std::string_view::npos;
}

}  // namespace

bool is_module(std::string_view code) {
  while (!code.empty()) {
    std::string_view line = code.substr(0, code.find('\n'));
    code.remove_prefix(std::min(code.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
    if (begins_declaration(line, "import") || begins_declaration(line, "export")) return true;
  }
  return false;
}

}  // namespace cay::code
