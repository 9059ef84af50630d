// WakefulLoop: an event loop that polls for a moment after a connection came, before it sleeps. The
// first bytes and their answer follow within fractions of a millisecond if both sides are near.
// Waking up costs as much again, and more under a hypervisor. It polls only beside a second
// processor: on a single one the other side could not run. Decision 0015 has the figures.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>

namespace cay::gate {

class WakefulLoop {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kAfterOne{
      1000};  // its first answer has come by then, or comes from afar
  static constexpr std::chrono::microseconds kAwake{150};  // since something happened
  static constexpr int kShare = 4;  // of a processor's time, a quarter at most is spent so,
  static constexpr std::chrono::milliseconds kSaved{100};  // but for so much that was not

  // `alone`: there is one processor.
  explicit WakefulLoop(bool alone = is_alone());

  // A connection was let in.
  void came(Clock::time_point now = Clock::now()) { came_ = now; }

  // Whether to poll again at once, if nothing has happened since `last`. Charges the time that was
  // spent polling.
  bool stays_awake(Clock::time_point last, Clock::time_point now);
  // It goes to sleep, or something happened: until the next stays_awake() nothing is charged.
  void ends() { looked_.reset(); }

  // Until the loop is stopped, or has nothing to wait for.
  void run(boost::asio::io_context& loop);

 private:
  static bool is_alone();

  const bool alone_;
  std::optional<Clock::time_point> came_;    // the last of them
  std::optional<Clock::time_point> looked_;  // in vain
  Clock::time_point earned_ = Clock::now();  // up to then
  Clock::duration left_ = kSaved;
};

}  // namespace cay::gate
