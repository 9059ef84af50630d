// SseReader: splits a stream of server-sent events into events, however the stream is cut.
// Source: WHATWG HTML, 9.2.6 "Interpreting an event stream".
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cay::agent {

struct SseEvent {
  std::string name;  // of its "event" line; empty: none
  std::string data;  // its "data" lines, joined by LF
  bool operator==(const SseEvent&) const = default;
};

class SseReader {
 public:
  // An event or a line of more than `most` bytes is refused.
  explicit SseReader(std::size_t most = 16u << 20) : most_(most) {}

  // Appends the events that `bytes` complete. Fails kUnavailable (model_bad_answer) past the limit,
  // and for ever after.
  Result<void> feed(std::string_view bytes, std::vector<SseEvent>& out);

  // Appends an event that the end of the stream completes. Some servers leave out the last blank
  // line, and the standard would drop the event.
  void finish(std::vector<SseEvent>& out);

 private:
  void end_line(std::vector<SseEvent>& out);
  void end_event(std::vector<SseEvent>& out);

  const std::size_t most_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool is_first_line_ = true;  // it may begin with a byte order mark
  bool after_cr_ = false;      // a LF belongs to the line's end before it
  bool too_large_ = false;
};

}  // namespace cay::agent
