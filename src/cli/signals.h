// Signals taken on a thread of its own, so that handlers may do what they like.
#pragma once
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

#include "base/unique_fd.h"

namespace cay::cli {

class Signals {
 public:
  using Handler = std::function<void(int signal)>;

  // Blocks INT, TERM, HUP, QUIT and WINCH in this thread and those it makes from here on, so make it
  // before the client. Until on() is called they do what end_unless_resized() does.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;

  // One handler at a time; a handler that runs is waited for.
  void on(Handler handler);

 private:
  void take();

  UniqueFd signals_, stop_;
  std::mutex mutex_;
  Handler handler_;
  std::thread thread_;
};

[[noreturn]] void end_by_signal(int signal);
// What signals do that nobody handles.
void end_unless_resized(int signal);

}  // namespace cay::cli
