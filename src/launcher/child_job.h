// ChildJob: long work (the default snapshot, probes) in a forked child, so that the loop goes on.
// The child's answers are frames on a pipe; its end without a final frame is an error.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/outbox.h"
#include "launcher/poller.h"
#include "os/process.h"

namespace cay::launcher {

class ChildJob {
 public:
  using Emit = std::function<void(wire::Type type, std::string payload)>;
  using Work = std::function<void(const Emit& emit)>;

  // Forks and runs `work` there. `on_end` is called here once, from the loop; it may destroy the
  // job.
  static Result<std::unique_ptr<ChildJob>> start(Poller& poller, Outbox& outbox, const Work& work,
                                                 std::function<void()> on_end);
  ~ChildJob();
  ChildJob(const ChildJob&) = delete;
  ChildJob& operator=(const ChildJob&) = delete;

  // One more who gets the frames from now on.
  void add(const ReplyTo& to) { listeners_.push_back(to); }

 private:
  ChildJob(Poller& poller, Outbox& outbox, std::function<void()> on_end)
      : poller_(poller), outbox_(outbox), on_end_(std::move(on_end)) {}
  void on_readable();
  void relay();

  Poller& poller_;
  Outbox& outbox_;
  std::function<void()> on_end_;
  UniqueFd pipe_, pidfd_;
  pid_t pid_ = 0;
  wire::FrameReader reader_;
  std::vector<ReplyTo> listeners_;
  bool answered_ = false;
};

}  // namespace cay::launcher
