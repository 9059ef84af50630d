// LineShares: which requests get a line in the record of requests, and how long a one. What may have changed something always does; of
// the rest each key and each link has so many a second, and strangers have theirs together: whoever asks and asks pushes out nothing.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "server/dispatch.h"
#include "server/rate_limit.h"

namespace cay::server {

class LineShares {
 public:
  explicit LineShares(Clock& clock = system_clock());

  // Whether it gets its line; what does not is counted. An end does where its beginning did.
  bool take(const AccessRecord& record);

  struct LeftOut {
    std::uint64_t refused = 0, looks = 0;
  };
  // What was left out since this was asked last.
  LeftOut left_out() { return std::exchange(left_out_, {}); }

 private:
  bool fits(const AccessRecord& record);

  RateLimit strangers_, refused_, looks_;
  LeftOut left_out_;
};

// Whether it has changed something, or may have: what acts, and was not refused. Of what lasts, its beginning too.
bool has_changed(const AccessRecord& record);

// Where that is written beside the record of all requests, below the data directory: each tenant has files of its own, or whoever may act
// could push out what was done in others', and in it keys of one sandbox have one apart; what the host's keys did is in none of these.
std::string changes_file(const AccessRecord& record);

// What a caller may make as long as it likes, cut to what a line has room for.
void shorten(AccessRecord& record);

}  // namespace cay::server
