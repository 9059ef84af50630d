#include "cli/options.h"

#include <CLI/CLI.hpp>

namespace cay::cli {

void wrong(std::string_view option, std::string_view why) {
  throw CLI::ValidationError(std::string(option), std::string(why));
}

void missing(std::string_view what) { throw CLI::RequiredError(std::string(what)); }

void Options::flag(const std::string& names, bool& to, const std::string& help) {
  command_.add_flag(names, to, help);
}

void Options::ignored_flag(const std::string& names, const std::string& help) {
  command_.add_flag_function(names, [](std::int64_t) {}, help);
}

void Options::text(const std::string& names, std::string& to, const std::string& help,
                   const Check& check) {
  auto* option = command_.add_option(names, to, help);
  if (check) option->check(check);
}

void Options::maybe_text(const std::string& names, bool& given, std::string& to,
                         const std::string& help) {
  const auto take = [&given, &to](const std::string& value) {
    given = true;
    to = value;
  };
  command_.add_option_function<std::string>(names, take, help)->expected(0, 1);
}

void Options::number(const std::string& names, std::uint64_t& to, const std::string& help) {
  command_.add_option(names, to, help);
}

void Options::texts(const std::string& names, std::vector<std::string>& to,
                    const std::string& help) {
  command_.add_option(names, to, help)->take_all()->allow_extra_args(false);
}

void Options::lists(const std::string& names, std::vector<std::string>& to,
                    const std::string& help) {
  command_.add_option(names, to, help)->delimiter(',')->take_all()->allow_extra_args(false);
}

void Options::choice(const std::string& names, std::string& to, std::vector<std::string> choices,
                     const std::string& help, Need need) {
  command_.add_option(names, to, help)
      ->required(need == Need::kRequired)
      ->check(CLI::IsMember(std::move(choices)));
}

void Options::needed(const std::string& name, std::string& to, const std::string& help) {
  command_.add_option(name, to, help)->required();
}

void Options::needed(const std::string& name, std::vector<std::string>& to,
                     const std::string& help) {
  command_.add_option(name, to, help)->required();
}

void Options::port(const std::string& name, std::uint16_t& to, const std::string& help) {
  constexpr int kHighest = 65'535;
  command_.add_option(name, to, help)->check(CLI::Range(1, kHighest));
}

void Options::arguments(const std::string& name, std::vector<std::string>& to,
                        const std::string& help) {
  command_.add_option(name, to, help);
}

}  // namespace cay::cli
