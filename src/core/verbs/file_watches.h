// FileWatches: watched directories whose readers come and go.
//
// A watch keeps its newest events, at most 65,536 and 4 MiB of them. A reader names the last event
// that it has seen. Events that are kept no more are a gap. A watch ends with its sandbox's run,
// with the daemon, and when nobody has read for its `idle_s`. It does not keep a sandbox awake, but
// a reader does. An ended watch stays readable for five minutes.
#pragma once
#include <string>
#include <vector>

#include "async/task.h"
#include "base/clock.h"
#include "model/file_watch.h"
#include "model/principal.h"

namespace cay::core {

class FileWatches {
 public:
  virtual ~FileWatches() = default;
  // Returns once the directory is watched. Fails as LiveFileChanges::watch().
  virtual Task<WatchInfo> open(Principal who, std::string ref, WatchSpec spec) = 0;
  virtual Task<std::vector<WatchInfo>> list(Principal who, std::string ref) = 0;
  // The events after the one with the number `after`, at most `limit`. Waits up to `wait` for the
  // first one. Fails kNotFound (watch_not_found), kOutOfRange (offset_past_end).
  virtual Task<WatchPage> read(Principal who, std::string ref, std::string id, std::uint64_t after,
                               std::uint32_t limit, Millis wait) = 0;
  virtual Task<void> close(Principal who, std::string ref, std::string id) = 0;
};

}  // namespace cay::core
