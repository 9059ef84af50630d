// Signals taken on a thread of its own, so that handlers may do what they like.
#pragma once
#include <csignal>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace cay::cli {

class Signals {
 public:
  using Handler = std::function<void(int signal)>;

  // Blocks INT, TERM, HUP, QUIT and WINCH in this thread and those it makes from here on, so make
  // it before the client. Until on() or hold() is called they end this program (but for WINCH).
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;

  // Sets the one handler. A running one is waited for. Held signals go to the new one first. Empty:
  // none.
  void on(Handler handler);

  // From here on, signals without a handler are remembered instead of ending this program: the work
  // under way has to be finished, or undone, first. The third of them ends it nevertheless, and
  // prints `left_behind`.
  void hold(std::string left_behind);
  // Ends hold(): signals without a handler end this program, also one that was remembered.
  void release();
  // The first that was remembered and that no handler was given.
  std::optional<int> held();

 private:
  void take();
  void unhandled(int signal);

  UniqueFd signals_, stop_;
  std::mutex mutex_;
  Handler handler_;  // empty: unhandled()
  bool holding_ = false;
  std::string left_behind_;
  std::vector<int> held_;
  std::thread thread_;
};

[[noreturn]] void end_by_signal(int signal);

}  // namespace cay::cli
