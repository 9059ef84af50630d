// A line of text that another process, of another user, left in a file: its state.
#pragma once
#include <string>

namespace cay::os {

// The first line of the file, of visible ASCII and at most 512 characters: its writer is not
// believed more. Empty: there is none.
std::string told_line(const std::string& path);

}  // namespace cay::os
