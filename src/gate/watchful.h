// Watchful: a loop that, for a moment after a connection came, looks again before it goes to sleep. What a connection
// says first, and what is answered to that, follows in fractions of a millisecond where both sides are near; to be
// woken for it costs as much again, and more under a hypervisor. On a second processor only: where there is just one,
// whoever is waited for would wait for the loop. docs/decisions/0015.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>

namespace cay::gate {

class Watchful {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kAfterOne{1000};  // its first answer has come by then, or comes from afar
  static constexpr std::chrono::microseconds kAwake{150};      // since something happened
  static constexpr int kShare = 4;                             // of a processor's time, a quarter at most is spent so,
  static constexpr std::chrono::milliseconds kSaved{100};      // but for so much that was not

  // `alone`: there is one processor.
  explicit Watchful(bool alone = is_alone());

  // A connection was let in.
  void came(Clock::time_point now = Clock::now()) { came_ = now; }

  // Whether to look again at once, where nothing has happened since `last`. What was spent so is charged up to now.
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
