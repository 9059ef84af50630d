// LineShares: which requests get a line in the record of requests, and how long a one. What a key may have changed something by always does; of
// the rest each key and each link has so many a second, looks for each class of routes, what may change something in a link's service apart from these,
// and strangers for each network that they come from,
// with a bound for all of these: whoever asks and asks pushes out nothing. What is left out is told by who asked for what.
#pragma once
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "server/dispatch.h"
#include "server/rate_limit.h"

namespace cay::server {

class LineShares {
 public:
  static constexpr std::size_t kMostTold = 20;  // callers by class of routes, each told apart

  explicit LineShares(Clock& clock = system_clock());

  // Whether it gets its line; what does not is counted. An end does where its beginning did.
  bool take(const AccessRecord& record);

  struct Caller {
    enum class Kind : std::uint8_t { kKey, kLink, kNetwork } kind = Kind::kKey;
    std::string tenant, name;  // tenant: a key's
    auto operator<=>(const Caller&) const = default;
  };
  struct Count {
    std::uint64_t refused = 0, looks = 0, acts = 0;  // acts: by links
    bool any() const { return refused + looks + acts > 0; }
  };
  struct Part {
    Caller caller;
    std::string_view routes;  // their class
    Count count;
  };
  struct LeftOut {
    Count all;
    std::vector<Part> parts;  // at most kMostTold
    Count others;             // those that are in none of these
  };
  // What was left out since this was told last, to stand before the line of `record`. Before strangers' it is told once a second: they are many, and it is long.
  LeftOut left_out(const AccessRecord& record);

 private:
  bool fits(const AccessRecord& record);
  void count(const AccessRecord& record);

  Clock* clock_;
  RateLimit strangers_, all_strangers_, refused_, looks_, by_link_;
  Count all_, others_;
  std::map<std::pair<Caller, std::string_view>, Count> parts_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::time_point::min();
};

// Whether it has changed something, or may have: what acts, and was let in, whatever its answer. Of what lasts, its beginning too.
bool has_changed(const AccessRecord& record);

// Where that is written beside the record of all requests, below the data directory: each tenant has files of its own, or whoever may act
// could push out what was done in others', and in it keys of one sandbox have one apart; what the host's keys did is in none of these.
std::string changes_file(const AccessRecord& record);

// What a caller may make as long as it likes, cut to what a line has room for.
void shorten(AccessRecord& record);

}  // namespace cay::server
