// Output of commands that outlives the keeper, where the runtime can read it: on this host from the
// spool's files. A runtime without such a place leaves KeptCommands empty, and readers of commands
// then end with the keeper.
#pragma once
#include <functional>
#include <memory>

#include "core/ports/live_sandbox.h"

namespace cay::runtime {

// The rest of a finished command's output, and its end.
class KeptOutput : public core::CommandReader {
 public:
  // The place is about to be removed: bytes that were not read become a gap. Holds nothing of it
  // open afterwards.
  virtual void let_go() = 0;
};

// One command as that place has it.
class KeptCommand {
 public:
  virtual ~KeptCommand() = default;

  // Its end is not on record.
  virtual bool is_open() const = 0;
  // kOutOfRange (offset_past_end). At most once.
  virtual Result<std::unique_ptr<KeptOutput>> read(core::OutputOffsets from) = 0;
  // As KeptOutput::let_go().
  virtual void let_go() = 0;
};

// Finds a command of one sandbox. kNotFound (unknown_command) if it is not kept.
using KeptCommands = std::function<Result<std::unique_ptr<KeptCommand>>(const CommandId&)>;

}  // namespace cay::runtime
