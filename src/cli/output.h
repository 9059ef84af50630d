// Bytes to this program's own stdout and stderr, exactly.
#pragma once
#include <string_view>

namespace cay::cli {

enum class Written { kAll, kBrokenPipe, kFailed };

// Writes all of it. kBrokenPipe: no reader is left. kFailed: errno has the reason (a full disk).
Written write_all(int fd, std::string_view bytes);

// Text for people or machines to stdout; a failure ends the program with 125 (or 141 for a pipe).
void print(std::string_view text);
void print_error(std::string_view line);  // "cay: LINE\n" to stderr

}  // namespace cay::cli
