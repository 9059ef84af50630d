#include "cli/actions.h"

#include <algorithm>

#include "cli/options.h"

namespace cay::cli {

std::vector<std::string> names_of(std::span<const Action> actions) {
  std::vector<std::string> out;
  for (const Action& action : actions) out.emplace_back(action.name);
  return out;
}

void check_words(std::span<const Action> actions, std::string_view action,
                 const std::vector<std::string>& words) {
  const auto found = std::ranges::find(actions, action, &Action::name);
  if (found == actions.end()) return;
  if (words.size() < found->least) missing(std::string(found->words));
  if (words.size() > found->most)
    wrong("'" + words[found->most] + "'", "does not go with " + std::string(action));
}

}  // namespace cay::cli
