// OutputPipe: the keeper's end of a command's stdout or stderr (or terminal): reads into the spool,
// whatever anybody does with the bytes later.
#pragma once
#include <functional>

#include "base/unique_fd.h"
#include "keeper/loop.h"
#include "keeper/spool_stream.h"

namespace cay::keeper {

class OutputPipe {
 public:
  // `on_bytes(layout_changed)` after bytes were spooled, `on_eof` once, when nobody can write more.
  OutputPipe(Loop& loop, UniqueFd fd, SpoolStream& stream, std::function<void(bool)> on_bytes,
             std::function<void()> on_eof);

  // Spools all that was written so far, without waiting for more.
  void drain();
  bool is_open() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }

 private:
  // Reads at most `most` bytes; returns how many, 0 when there is nothing now, -1 at the end.
  ssize_t read_some(std::size_t most);
  void grow();
  void on_readable();
  void at_eof();

  UniqueFd fd_;
  SpoolStream& stream_;
  std::function<void(bool)> on_bytes_;
  std::function<void()> on_eof_;
  bool grown_ = false;
  Watch watch_;
};

}  // namespace cay::keeper
