// ProgramRecord: appends the events of the kernel part's ring to the sandbox's program record
// (wire/program_record.h). Missing events are noted in their place. At the limit the record states
// its end.
#pragma once
#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"
#include "keeper/program_ring.h"
#include "wire/program_record.h"

namespace cay::keeper {

// The file alone: a bounded list of messages that notes its own holes.
class ProgramFile {
 public:
  // Goes on with what an earlier life wrote, without a torn tail.
  static Result<ProgramFile> open(int spool_fd, std::uint64_t limit = wire::kProgramFileLimit);

  // If the life before ended without close_life(), its unwritten events are noted as missing first.
  void begin_life(std::int64_t at_us);
  void close_life(std::int64_t at_us);
  void add(const wire::ProgramMsg& message);
  void add_lost(std::uint64_t count) { missing_ += count; }
  // Writes the added messages. Those that the disk does not take are missing from then on.
  void flush();
  bool full() const { return full_; }

 private:
  bool put(const wire::ProgramMsg& message);
  void tell_missing();

  UniqueFd file_;
  std::uint64_t limit_ = 0;
  std::uint64_t size_ = 0;     // on disk
  std::uint64_t missing_ = 0;  // not noted yet
  std::uint64_t told_ = 0;     // missing, and noted in `batch_`
  std::uint64_t records_ = 0;  // in `batch_`
  std::string batch_;
  std::int64_t last_at_us_ = 0;
  bool full_ = false;
  bool full_after_batch_ = false;
  bool cut_short_ = false;  // the life before did not close
};

class ProgramRecord {
 public:
  // Checks whether it can be kept. Called before the sandbox is up.
  static Result<void> check(const Context& context);
  // Ends the process if it cannot be kept after all: nothing runs unrecorded.
  ProgramRecord(Loop& loop, const Context& context);

  // Brings all events that the kernel has reported by now to the disk.
  void catch_up();
  // The same when all has ended: what follows is no loss.
  void close();

 private:
  Loop& loop_;
  std::uint32_t first_uid_ = 0;
  std::int64_t epoch_us_ = 0;  // of this life: identities must not move with the wall clock
  ProgramRing ring_;
  ProgramFile file_;
  std::uint64_t lost_ = 0;  // as counted by the kernel part, and noted
  Watch watch_;
  Timer timer_;
};

}  // namespace cay::keeper
