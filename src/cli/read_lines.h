// read_lines: the lines of a descriptor, for a thread that may block in read(2).
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace cay::cli {

// Calls `push` with each line, without its newline, until the descriptor ends. A line is cut after
// `longest` bytes.
void read_lines(int fd, std::size_t longest, const std::function<void(std::string)>& push);

}  // namespace cay::cli
