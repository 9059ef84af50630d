// Outputs: the pipes that calls write to, and the events that come of them.
//
// Each call has pipes of its own, so output always belongs to the call that started the writer.
// Background jobs hold them after the end of their call. Such output is an event of the call that
// is under way, marked as of the background. Without one it is kept for the next call.
#pragma once
#include <poll.h>

#include "code/shell/events.h"

namespace cay::shell {

constexpr std::size_t kMostRead = 32 << 10;  // of output in one event
constexpr std::size_t kMostStreams = 130;    // two of each call whose background jobs write
constexpr std::size_t kMostKept = 1 << 20;   // of output between two calls: the last of it

struct Stream {
  int fd = -1;
  const char* kind = "stdout";
  Id call;            // empty: stdout of bash itself, where traps write between two calls
  char rest[4] = {};  // the beginning of a character
  std::size_t rest_size = 0;
};

class Outputs {
 public:
  explicit Outputs(Events& events) : events_(events) {}

  // Opens the pipe of an output. Returns nullptr if too many are open.
  Stream* open(const char* kind, const Id& call, int& writer);
  // Puts all that are open into `waits`, and returns how many.
  std::size_t wait_for(pollfd* waits, Stream** whose);
  void read(Stream& from, std::size_t most = kMostRead);

  // `call` is under way from here on. The kept output becomes its events.
  void begin(const Id& call);
  // Sends what the call and bash itself wrote before this. No call is under way from here on.
  void end();

 private:
  bool is_of_call(const Stream& one) const { return is_under_way_ && one.call == call_; }
  void drain(Stream& from);
  void put(Stream& from, Text bytes, bool last);
  void keep(const Stream& from, Text bytes);
  void send_kept();

  Events& events_;
  bool is_under_way_ = false;
  Id call_;
  Stream streams_[kMostStreams];
  std::uint64_t dropped_ = 0;
};

}  // namespace cay::shell
