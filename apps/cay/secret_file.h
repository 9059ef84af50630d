// A secret in a file of its own, which the settings name.
#pragma once
#include <string>

#include "base/result.h"

namespace cay::app {

// What is in the file, without the line's end. kInvalidArgument (bad_config): it is none, or everybody may read or write it;
// `setting` is who named it.
Result<std::string> read_secret_file(const std::string& setting, const std::string& path);

}  // namespace cay::app
