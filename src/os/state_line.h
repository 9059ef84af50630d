// state_line() reads the line in which a process of another user left its state.
#pragma once
#include <string>

namespace cay::os {

// Returns the first line of the file, of visible ASCII and at most 512 characters, because its
// writer is not trusted. Empty: there is none.
std::string state_line(const std::string& path);

}  // namespace cay::os
