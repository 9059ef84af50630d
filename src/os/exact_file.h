// A file for readers of another user: its mode is the one given, whatever our umask is.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::os {

// As replace_file() (file.h) else; of one that fails nothing is left.
Result<void> replace_file_exactly(int dir, const std::string& name, std::string_view bytes,
                                  mode_t mode);

}  // namespace cay::os
