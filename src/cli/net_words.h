// Why something was refused or failed, in words.
#pragma once
#include <string>

#include "cay/types.h"

namespace cay::cli {

// Of its reason, rule and address; a reason that is not known here is told as it is. Empty: it was let through.
std::string words_for(const sdk::NetworkDecision& line);

// What to do, as the API says it of any sandbox ("cay policy set SANDBOX …"), for this one.
std::string for_sandbox(std::string remedy, const std::string& sandbox);

}  // namespace cay::cli
