// Commands of a sandbox that does not run, from its spools on disk (wire/spool_layout.h). A keeper
// wrote them: nothing there is followed, and no length is believed without looking.
#pragma once
#include <dirent.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "runtime/keeper/kept_output.h"
#include "wire/messages.h"

namespace cay::runtime {

// `spool`: DATA/spool. `boot_id`: of the host now. It separates a lost keeper from a restarted
// host.

// All of them, read some at a time. There may be a hundred thousand, and the reading loop serves
// others too.
class SpooledCommands {
 public:
  static Result<SpooledCommands> open(const std::string& spool, const SandboxId& id,
                                      std::string boot_id);
  // Looks at up to `most` more. False: that was all. After an error there is no list.
  Result<bool> read(std::size_t most);
  std::vector<Command> take();  // the oldest first

 private:
  struct CloseDirectory {
    void operator()(DIR* dir) const;
  };
  Result<void> look_at_one(const std::string& name);

  std::unique_ptr<DIR, CloseDirectory> entries_;  // null: it never was started
  std::string boot_id_;
  std::vector<Command> all_;
};

// The commands of a sandbox as KeptCommand.
KeptCommands spooled_commands(std::string spool, SandboxId id, std::string boot_id);

// Reads a command's kept output in one step.
Result<std::unique_ptr<core::CommandReader>> spooled_reader(const std::string& spool,
                                                            const SandboxId& id,
                                                            const CommandId& command,
                                                            core::OutputOffsets from,
                                                            const std::string& boot_id);

}  // namespace cay::runtime
