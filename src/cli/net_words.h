// Why something was refused or failed, in words.
#pragma once
#include <string>

#include "cay/types.h"

namespace cay::cli {

// Returns words for its reason, rule and address. An unknown reason is shown as it is. Empty: it
// was let through.
std::string words_for(const sdk::NetworkDecision& line);

// Returns the remedy that the API names for any sandbox ("cay policy set SANDBOX …") for this one.
std::string for_sandbox(std::string remedy, const std::string& sandbox);

}  // namespace cay::cli
