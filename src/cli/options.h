// Options: declares the options and arguments of one command. They are filled when a line is
// parsed, so what they fill lives as long as the command.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cay::cli {

// Ends the parsing of a line: the value of `option` is wrong, or something that must be given is
// not there.
[[noreturn]] void wrong(std::string_view option, std::string_view why);
[[noreturn]] void missing(std::string_view what);

// The value, or wrong().
template <class T>
T must(Result<T> result, std::string_view option) {
  if (!result) wrong(option, result.error().message);
  return *std::move(result);
}

class Options {
 public:
  // Returns why a value is refused, "" if it is fine.
  using Check = std::function<std::string(const std::string& value)>;
  enum class Need : std::uint8_t { kOptional, kRequired };

  explicit Options(CLI::App& command) : command_(command) {}

  // `names`: "-u,--user", or "SANDBOX" for an argument.
  void flag(const std::string& names, bool& to, const std::string& help);
  void ignored_flag(const std::string& names, const std::string& help);
  void text(const std::string& names, std::string& to, const std::string& help,
            const Check& check = {});
  // An option whose value may be left out. `given`: the option is there.
  void maybe_text(const std::string& names, bool& given, std::string& to, const std::string& help);
  void number(const std::string& names, std::uint64_t& to, const std::string& help);
  // Each use takes one value, and it may be repeated.
  void texts(const std::string& names, std::vector<std::string>& to, const std::string& help);
  // The same; a value may be a list with commas.
  void lists(const std::string& names, std::vector<std::string>& to, const std::string& help);
  // One of `choices`.
  void choice(const std::string& names, std::string& to, std::vector<std::string> choices,
              const std::string& help, Need need = Need::kOptional);

  // Arguments that must be there.
  void needed(const std::string& name, std::string& to, const std::string& help);
  void needed(const std::string& name, std::vector<std::string>& to, const std::string& help);
  // Arguments that may be there.
  void port(const std::string& name, std::uint16_t& to, const std::string& help);
  void arguments(const std::string& name, std::vector<std::string>& to, const std::string& help);

 private:
  CLI::App& command_;
};

}  // namespace cay::cli
