// How a file helper names what went wrong.
#pragma once
#include <string>

#include "base/error.h"

namespace cay::keeper {

// The typed error of `err` on `path`: reasons file_not_found, not_a_directory, is_a_directory,
// permission_denied, already_exists, disk_full, directory_not_empty, ...
Error file_error(int err, const std::string& path);
Error is_a_directory(const std::string& path);
Error not_a_regular_file(const std::string& path);

}  // namespace cay::keeper
