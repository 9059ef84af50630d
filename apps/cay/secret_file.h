// A secret in a file of its own, which the settings name.
#pragma once
#include <string>

#include "base/result.h"

namespace cay::app {

// Returns the file's content without the line's end. Fails kInvalidArgument (bad_config) if there
// is no such file, or if everybody may read or write it. `setting` names the setting in the error.
Result<std::string> read_secret_file(const std::string& setting, const std::string& path);

}  // namespace cay::app
