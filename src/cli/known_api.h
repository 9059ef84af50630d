// KnownApi describes an API whose clients Cay can configure. `--use openai` and `cay secret set
// openai` look it up by name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"

namespace cay::cli {

struct KnownApi {
  std::string_view name;
  std::vector<std::string> hosts;  // where its key is sent
  // As the API takes them, for the secret of that name; without a way, those of its first one.
  // Empty: it cannot be used in that way.
  codec::json::array rules(const std::string& secret, std::string_view way = "") const;
  // "headers, placeholder"
  std::string ways() const;

  struct Rule {
    std::string_view suffix;  // of its name, behind the secret's
    std::string_view way;
    std::vector<std::string_view> hosts;
    std::string_view header, value,
        basic_user;  // of way placeholder: the header's name alone, or none for the usual ones
    std::vector<std::pair<std::string_view, std::string_view>> env;
  };
  std::vector<Rule> all;  // rules of one way stand together
};

// Null: not known.
const KnownApi* known_api(std::string_view name);
// "anthropic, github, openai"
std::string known_apis();

}  // namespace cay::cli
