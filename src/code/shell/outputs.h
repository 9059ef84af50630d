// Outputs: the pipes that calls write to, and the events that come of them.
//
// Each call has pipes of its own, so output always belongs to the call that started the writer.
// Background jobs hold them after the end of their call. Such output is a late event of that call,
// which leaves at once, whatever is under way. The ledger has a line for the last job's end.
#pragma once
#include <poll.h>

#include "code/shell/events.h"

namespace cay::shell {

constexpr std::size_t kMostRead = 32 << 10;  // of output in one event
constexpr std::size_t kMostStreams = 130;    // two of each call whose background jobs write

struct Stream {
  int fd = -1;
  const char* kind = "stdout";
  Id call;            // empty: stdout of bash itself, where traps write between two calls
  char rest[4] = {};  // the beginning of a character
  std::size_t rest_size = 0;
  bool has_job = false;  // by the ledger
};

class Outputs {
 public:
  explicit Outputs(Events& events) : events_(events) {}

  // Opens the pipe of an output. Returns nullptr if too many are open.
  Stream* open(const char* kind, const Id& call, int& writer);
  // Puts all that are open into `waits`, and returns how many.
  std::size_t wait_for(pollfd* waits, Stream** whose);
  void read(Stream& from, std::size_t most = kMostRead);

  // `call` is under way from here on.
  void begin(const Id& call);
  // Sends what the call and bash itself wrote before this. No call is under way from here on.
  void end();
  // Sends what all jobs wrote before this.
  void drain_all();
  // Whether a job of `call` still holds one of its pipes. The driver itself has closed them.
  bool has_jobs(const Id& call);

 private:
  bool is_of_call(const Stream& one) const { return is_under_way_ && one.call == call_; }
  void drain(Stream& from);
  void put(Stream& from, Text bytes, bool last);
  void close(Stream& from);

  Events& events_;
  bool is_under_way_ = false;
  Id call_;
  Stream streams_[kMostStreams];
};

}  // namespace cay::shell
