#include "cli/missing.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cay::cli {
namespace {

constexpr auto kFirstPause = std::chrono::seconds(1);
constexpr auto kLongestPause = std::chrono::minutes(5);

std::string bytes_of(std::uint64_t bytes, std::string_view more, sdk::Stream stream) {
  return std::to_string(bytes) + std::string(more) + " bytes of " +
         (stream == sdk::Stream::kStdout ? "stdout" : "stderr");
}

std::string places(std::uint64_t number) {
  return std::to_string(number) + (number == 1 ? " place" : " places");
}

}  // namespace

void Missing::add(const sdk::Gap& gap, Clock::time_point now) {
  Sum& sum = sum_of(gap.stream);
  sum.bytes += gap.length;
  if (++sum.places == 1) {
    sum.pause = kFirstPause;
    sum.due = now + sum.pause;
    say_(bytes_of(gap.length, "", gap.stream) +
         " are missing here: the command wrote more than is kept");
    return;
  }
  sum.untold += gap.length;
  ++sum.untold_places;
  look(now);
}

void Missing::look(Clock::time_point now) {
  for (const auto stream : {sdk::Stream::kStdout, sdk::Stream::kStderr}) {
    Sum& sum = sum_of(stream);
    if (sum.untold_places == 0 || now < sum.due) continue;
    tell(stream, sum);
    sum.pause = std::min<Clock::duration>(sum.pause * 2, kLongestPause);
    sum.due = now + sum.pause;
  }
}

void Missing::finish() {
  for (const auto stream : {sdk::Stream::kStdout, sdk::Stream::kStderr}) {
    Sum& sum = sum_of(stream);
    if (sum.untold_places > 0) tell(stream, sum);
    if (sum.places > 1)
      say_("in all " + bytes_of(sum.bytes, "", stream) + " are missing, in " + places(sum.places));
    sum = {};
  }
}

void Missing::tell(sdk::Stream stream, Sum& sum) {
  say_(bytes_of(std::exchange(sum.untold, 0), " more", stream) +
       " are missing since the last report, in " + places(std::exchange(sum.untold_places, 0)));
}

}  // namespace cay::cli
