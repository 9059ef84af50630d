// StdinLines: the lines of a descriptor as a channel of a loop. A thread reads them, since a read
// of a file cannot be waited for. That thread ends with its input, or with the program.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "async/channel.h"

namespace cay::cli {

class StdinLines {
 public:
  // A line that is longer than `longest` bytes is cut. The channel is closed at the end of `fd`.
  StdinLines(const asio::any_io_executor& loop, int fd, std::size_t longest);

  // Without their line breaks.
  Channel<std::string>& lines();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cay::cli
