// The actions of a command, such as `ls` and `rm` of `cay snapshot`.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cay::cli {

struct Action {
  std::string_view name;
  std::string_view words;  // that it takes, for people: "SNAPSHOT TAG"
  std::size_t least = 0, most = 0;
};
inline constexpr std::size_t kAnyNumber = 1000;

std::vector<std::string> names_of(std::span<const Action> actions);
// Throws wrong() and missing() of options.h if `action` takes more or fewer words.
void check_words(std::span<const Action> actions, std::string_view action,
                 const std::vector<std::string>& words);

}  // namespace cay::cli
