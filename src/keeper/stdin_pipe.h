// StdinPipe: the keeper's end of a command's stdin: a bounded buffer, answers held back while it is
// full, half-close after it is empty.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "keeper/loop.h"
#include "keeper/outbox.h"

namespace cay::keeper {

// The bytes that all commands of the keeper hold together for their stdins.
struct StdinBudget {
  static constexpr std::size_t kMost = 24 * 1024 * 1024;
  std::size_t held = 0;
};

class StdinPipe {
 public:
  static constexpr std::size_t kBuffer = 1024 * 1024;
  static constexpr std::size_t kWaiting = 64;  // answers held back at once
  static constexpr std::size_t kWaitingBytes = 2 * kBuffer;

  // `terminal`: then half-close means nothing. An empty `fd` is a closed stdin.
  StdinPipe(Loop& loop, Outbox& outbox, StdinBudget& budget, UniqueFd fd, bool terminal);
  ~StdinPipe() { budget_.held -= counted_; }
  StdinPipe(const StdinPipe&) = delete;
  StdinPipe& operator=(const StdinPipe&) = delete;

  // Answers kOk when the bytes were taken, kNotReady when stdin is closed. `more`: the daemon has
  // announced more.
  void write(ReplyTo to, std::string data, bool more);
  // After what was written before.
  void close_when_drained(ReplyTo to);
  // The command is over or its end is closed.
  void close();
  // The daemon is gone: whether it held more of the input, which nobody will write any more.
  bool is_cut_short() const { return more_ && fd_ && !ending_; }

 private:
  struct Waiting {
    ReplyTo to;
    std::string data;
    bool end = false;
  };

  void flush();
  void admit();
  void count();
  static Error closed();

  Outbox& outbox_;
  Loop& loop_;
  StdinBudget& budget_;
  std::size_t counted_ = 0;  // our part of the budget
  UniqueFd fd_;
  bool terminal_;
  bool ending_ = false;  // close once the buffer is empty
  bool more_ = false;    // the daemon holds more
  std::string buffer_;
  std::size_t begin_ = 0;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  Watch watch_;
};

}  // namespace cay::keeper
