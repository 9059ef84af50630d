// FileJob: one file operation as the keeper sees it. It has the daemon's request and the helper
// that works on it, and checks what either of them may send now.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/loop.h"
#include "keeper/out_buffer.h"
#include "keeper/outbox.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::keeper {

struct FileJob {
  ReplyTo to;
  wire::FileOp op;  // a new helper reads it here
  UniqueFd socket;
  UniqueFd helper_end;  // until the start is decided
  Watch watch;
  wire::FrameReader reader;
  OutBuffer out;                    // for the helper
  std::string unheard;              // sent to a reused helper that has not responded yet
  std::uint64_t credit = 0;         // the daemon takes so many bytes of data
  std::uint64_t upload_credit = 0;  // the helper takes so many
  bool uploads = false;
  bool daemon_done = false;  // it sent kEof
  bool helper_eof = false;
  bool reused = false;     // its helper has done another operation before
  bool heard = false;      // the helper has sent something
  bool bulk = false;       // helper and daemon have a socket of their own for the content
  bool confirmed = false;  // a watch: it stands
  bool flush_due = false;
  bool blocked = false;  // the daemon's connection takes nothing now
  bool starting = false;
  bool cancelled = false;
  pid_t pid = 0;  // 0: none yet, or reaped
  std::uint32_t oom_before = 0;
  std::int64_t deadline_ms = 0;
  std::int64_t last_progress = 0;

  wire::FileVerb verb() const { return static_cast<wire::FileVerb>(op.verb); }

  // The keeper's verdict on a helper's frame.
  enum class Word { kNonsense, kIgnored, kBulkRequest, kPassOn, kLast };
  // Checks a helper's frame, and counts the credit that it uses or gives.
  Word judge(const wire::Frame& frame);
  // Whether the helper is the one to act: not the daemon, and not the keeper's own connection.
  bool owes() const;

  // Appends the frame for the helper.
  void pass_on(wire::Type type, std::string_view payload);
  // Sends what the helper takes now. False: it is gone, or takes no more.
  bool flush();
  void want();
  // Gives each of helper and daemon an end of a socket for the content.
  Result<void> open_bulk(Outbox& outbox);
};

using FileJobPtr = std::shared_ptr<FileJob>;

}  // namespace cay::keeper
