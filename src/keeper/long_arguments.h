// Arguments that are too long: for the kernel (a shell's line then goes by a file), and for a
// record.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::keeper {

// The descriptor under which a shell finds its line. One digit: POSIX shells name no higher one.
inline constexpr int kLineFd = 9;

// `argv` is {shell, "-c", line}. A line longer than an argument can be goes into a file in memory,
// which is returned and is to be the shell's descriptor kLineFd. `argv` then makes the shell read
// it there. Otherwise nothing happens and the descriptor is empty.
Result<UniqueFd> put_line_into_file(std::vector<std::string>& argv);

// Shortens `argv` to at most 16 KiB, for a record. True if something was left out.
bool shorten(std::vector<std::string>& argv);

}  // namespace cay::keeper
