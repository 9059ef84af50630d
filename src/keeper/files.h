// Files: file operations. A helper does each: a child that enters the sandbox as the guest user,
// and that waits a moment for another operation afterwards. The keeper opens no guest path. It
// relays the helper's frames, believes none of them, and ends a helper that does not get on.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "keeper/command_context.h"
#include "keeper/file_job.h"
#include "keeper/loop.h"
#include "keeper/outbox.h"
#include "keeper/waiting_helpers.h"
#include "wire/messages.h"

namespace cay::keeper {

class Files {
 public:
  static constexpr std::size_t kMostHelpers = 64;  // further ones queue
  static constexpr std::size_t kMostQueued = 1024;
  static constexpr std::size_t kMostWatchers = 16;  // beside the other helpers

  explicit Files(CommandContext shop)
      : shop_(shop), waiting_(shop.loop, [this](pid_t pid) { leave(pid); }) {}

  void start(ReplyTo to, wire::FileOp op);
  bool has(std::uint32_t channel) const { return jobs_.contains(channel); }
  // A frame of the daemon for a running operation.
  void on_frame(std::uint32_t channel, wire::Type type, std::string_view payload);
  // The daemon's connection takes more again.
  void pump();
  void cancel_all();
  // Ends the helpers that wait for work: the sandbox stops, or is paused.
  void dismiss_waiting() { waiting_.dismiss_all(); }

 private:
  void launch(const FileJobPtr& job);
  // Gives the job to a helper that waits. False: none does.
  bool reuse(const FileJobPtr& job);
  // The reused helper has not begun, and will not.
  void start_anew(const FileJobPtr& job);
  void start_queued();
  void on_started(const FileJobPtr& job, Result<Started> result);
  void on_reaped(pid_t pid);
  void on_events(const FileJobPtr& job, std::uint32_t ready);
  void relay(const FileJobPtr& job);
  // Forwards one frame; false when the operation is over. Its helper may wait for another one then.
  bool forward(const FileJobPtr& job, const wire::Frame& frame);
  void fail(const FileJobPtr& job, const Error& error);
  // The channel is over; the helper gets a moment to tidy up, then is killed.
  void end(const FileJobPtr& job);
  void leave(pid_t pid);
  void arm_tick();
  void tick();

  CommandContext shop_;
  Slot* slot_ = nullptr;  // one for all helpers, for as long as the keeper lives
  std::map<std::uint32_t, FileJobPtr> jobs_;
  std::deque<FileJobPtr> queue_;
  std::map<pid_t, std::int64_t> leaving_;  // helpers whose work is over, and when that was
  std::size_t helpers_ = 0;                // not yet reaped
  std::size_t watchers_ = 0;               // the same, of watches
  WaitingHelpers waiting_;
  Timer tick_;
};

}  // namespace cay::keeper
