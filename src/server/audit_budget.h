// AuditBudget: decides which requests get a line in the record of requests, and how long a line is.
//
// A call that a key was let in to act by always has its line. For all else each caller has a token
// bucket: a key, a link, or the network of a stranger. All strangers share one bucket more.
// So a caller who floods the record hides only requests of its own.
#pragma once
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "server/dispatch.h"
#include "server/rate_limit.h"

namespace cay::server {

class AuditBudget {
 public:
  explicit AuditBudget(Clock& clock = system_clock());

  // Returns whether the request gets a line. Otherwise it counts as omitted.
  // The end of a request gets a line if its beginning did.
  bool take(const AccessRecord& record);

  // Returns how many requests were omitted since the last call that returned a number, and forgets
  // them. To be called before a line is written. Returns 0 if it returned a number within a second.
  std::uint64_t take_omitted();

 private:
  bool fits(const AccessRecord& record);

  Clock* clock_;
  RateLimit known_, strangers_, all_strangers_;
  std::uint64_t omitted_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::time_point::min();
};

// Returns whether the request has changed something, or may have: it acts, and a key let it in,
// whatever the response. For what lasts its beginning counts too.
bool has_changed(const AccessRecord& record);

// Returns the file for a change, below the data directory.
//
// Each tenant has files of its own, so that one tenant's changes push out no other's. Keys of one
// sandbox have a file apart. The changes by the host's keys are in none of these.
std::string changes_file(const AccessRecord& record);

// Cuts what a caller can make as long as it likes to what a line has room for.
void shorten(AccessRecord& record);

}  // namespace cay::server
