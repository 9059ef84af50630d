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

  // Blocks INT, TERM, HUP, QUIT and WINCH in this thread and those it makes from here on, so make it
  // before the client. Until on() or hold() is called they end this program (but for WINCH).
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;

  // One handler at a time; a handler that runs is waited for. What was held is given to it first. Empty: nobody handles.
  void on(Handler handler);

  // From here on, signals that nobody handles are remembered instead of ending this program: what is under way has
  // to be finished, or undone, first. The third of them ends it nevertheless, and says `left_behind`.
  void hold(std::string left_behind);
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
