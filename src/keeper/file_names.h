// The names in a directory, sorted, without "." and "..".
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cay::keeper {

Result<std::vector<std::string>> names_in(int dir, const std::string& shown);

}  // namespace cay::keeper
