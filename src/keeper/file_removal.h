// The removal of directories with all that they contain, however deep it lies.
#pragma once
#include <string>

#include "base/result.h"
#include "keeper/file_channel.h"

namespace cay::keeper {

// Removes all that the open directory `dir` contains. `shown` is its name in errors.
Result<void> empty_directory(FileChannel& channel, int dir, const std::string& shown);

// Removes the directory `name` in `dir`. A symbolic link of that name is an error.
Result<void> remove_tree(FileChannel& channel, int dir, const std::string& name,
                         const std::string& shown);

}  // namespace cay::keeper
