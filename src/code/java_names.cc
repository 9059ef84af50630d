#include "code/java_names.h"

#include <optional>
#include <string>
#include <vector>

#include "base/ascii.h"

namespace cay::code {
namespace {

bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

// The words and the signs of a source, without comments, strings and characters.
class Tokens {
 public:
  explicit Tokens(std::string_view code) : rest_(code) {}

  std::optional<std::string_view> next() {
    while (skip()) {
    }
    if (rest_.empty()) return std::nullopt;
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    return take(length == 0 ? 1 : length);
  }

 private:
  std::string_view take(std::size_t length) {
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(out.size());
    return out;
  }
  void drop_through(std::string_view end, std::size_t from) {
    const auto at = rest_.find(end, from);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + end.size());
  }
  void drop_quoted(char quote) {
    std::size_t at = 1;
    while (at < rest_.size() && rest_[at] != quote && rest_[at] != '\n')
      at += rest_[at] == '\\' ? 2 : 1;
    rest_.remove_prefix(std::min(rest_.size(), at + 1));
  }
  // Drops one thing that is no token. Returns false where a token begins.
  bool skip() {
    if (rest_.empty()) return false;
    if (rest_.starts_with("//")) {
      drop_through("\n", 2);
    } else if (rest_.starts_with("/*")) {
      drop_through("*/", 2);
    } else if (rest_.starts_with("\"\"\"")) {
      drop_through("\"\"\"", 3);
    } else if (rest_.front() == '"' || rest_.front() == '\'') {
      drop_quoted(rest_.front());
    } else if (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\n' ||
               rest_.front() == '\r') {
      rest_.remove_prefix(1);
    } else {
      return false;
    }
    return true;
  }

  std::string_view rest_;
};

struct Type {
  std::string name;
  bool is_public = false;
  bool has_main = false;
};

struct Source {
  std::string package;
  std::vector<Type> types;
};

class SourceReader {
 public:
  Source read(std::string_view code) {
    Tokens tokens(code);
    while (const auto token = tokens.next()) add(*token);
    return std::move(source_);
  }

 private:
  void add(std::string_view token) {
    if (in_package_ && token != ";") {
      source_.package += token;
    } else if (token == ";") {
      in_package_ = false;
      if (depth_ == 0) is_public_ = false;
    } else if (token == "{") {
      ++depth_;
    } else if (token == "}") {
      depth_ -= depth_ > 0 ? 1 : 0;
      if (depth_ == 0) is_public_ = false;
    } else if (depth_ == 0) {
      at_the_top(token);
    } else if (depth_ == 1 && token == "(" && before_ == "main" && !source_.types.empty()) {
      source_.types.back().has_main = true;
    }
    before_ = token;
  }
  void at_the_top(std::string_view token) {
    in_package_ = token == "package" && source_.types.empty();
    if (token == "public") is_public_ = true;
    const bool declares =
        before_ == "class" || before_ == "interface" || before_ == "enum" || before_ == "record";
    if (declares && is_word(token.front()))
      source_.types.push_back({.name = std::string(token), .is_public = is_public_});
  }

  Source source_;
  std::string before_;
  int depth_ = 0;
  bool is_public_ = false;
  bool in_package_ = false;
};

}  // namespace

ProgramName java_program(std::string_view code) {
  const Source source = SourceReader().read(code);
  std::string file = "Main";
  std::string main, first;
  for (const Type& type : source.types) {
    if (type.is_public) file = type.name;
    if (type.has_main && main.empty()) main = type.name;
    if (first.empty() || type.is_public) first = type.name;
  }
  if (main.empty()) main = first.empty() ? file : first;
  if (!source.package.empty()) main = source.package + "." + main;
  return {.file = file + ".java", .entry = std::move(main)};
}

}  // namespace cay::code
