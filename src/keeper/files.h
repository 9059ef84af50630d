// Files: file operations, each done by a helper: a child that enters the sandbox as the guest user,
// does one task and is gone. The keeper opens no guest path; it relays the helper's frames,
// believes none of them, and ends a helper that does not get on.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "keeper/command_context.h"
#include "keeper/loop.h"
#include "keeper/out_buffer.h"
#include "keeper/outbox.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::keeper {

class Files {
 public:
  static constexpr std::size_t kMostHelpers = 64;  // further ones queue
  static constexpr std::size_t kMostQueued = 1024;
  static constexpr std::size_t kMostWatchers = 16;  // beside the other helpers

  explicit Files(CommandContext shop) : shop_(shop) {}

  void start(ReplyTo to, wire::FileOp op);
  bool has(std::uint32_t channel) const { return jobs_.contains(channel); }
  // A frame of the daemon for a running operation.
  void on_frame(std::uint32_t channel, wire::Type type, std::string_view payload);
  // The daemon's connection takes more again.
  void pump();
  void cancel_all();

 private:
  struct Job {
    ReplyTo to;
    wire::FileOp op;
    std::unique_ptr<wire::FileOp> task;  // what the helper reads; stays put
    UniqueFd socket;
    UniqueFd helper_end;  // until the start is decided
    Watch watch;
    wire::FrameReader reader;
    OutBuffer out;                    // for the helper
    std::uint64_t credit = 0;         // the daemon takes so many bytes of data
    std::uint64_t upload_credit = 0;  // the helper takes so many
    bool uploads = false;
    bool daemon_done = false;  // it sent kEof
    bool helper_eof = false;
    bool bulk = false;       // helper and daemon have a socket of their own for the content
    bool confirmed = false;  // a watch: it stands
    bool flush_due = false;
    bool blocked = false;  // the daemon's connection takes nothing now
    bool starting = false;
    bool cancelled = false;
    pid_t pid = 0;
    std::uint32_t oom_before = 0;
    std::int64_t deadline_ms = 0;
    std::int64_t last_progress = 0;
  };
  using JobPtr = std::shared_ptr<Job>;

  void launch(const JobPtr& job);
  void start_queued();
  void on_started(const JobPtr& job, Result<Started> result);
  void on_events(const JobPtr& job, std::uint32_t ready);
  void relay(const JobPtr& job);
  // Forwards one frame; false when the operation is over.
  bool forward(const JobPtr& job, const wire::Frame& frame);
  void flush(const JobPtr& job);
  // Gives each of helper and daemon an end of a socket for the content. False: the operation
  // failed.
  bool open_bulk(const JobPtr& job);
  void want(const JobPtr& job);
  void fail(const JobPtr& job, const Error& error);
  // The channel is over; the helper gets a moment to tidy up, then is killed.
  void end(const JobPtr& job);
  void tick();
  void arm_tick();
  static bool owes(const Job& job);

  CommandContext shop_;
  Slot* slot_ = nullptr;  // one for all helpers, for as long as the keeper lives
  std::map<std::uint32_t, JobPtr> jobs_;
  std::deque<JobPtr> queue_;
  std::map<pid_t, std::int64_t> leaving_;  // helpers whose work is over, and when that was
  std::size_t helpers_ = 0;                // not yet reaped
  std::size_t watchers_ = 0;               // the same, of watches
  Timer tick_;
};

}  // namespace cay::keeper
