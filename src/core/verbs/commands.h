// Commands: runs programs in sandboxes. `ref` is a sandbox's id or name.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "async/task.h"
#include "core/ports/runtime.h"
#include "model/command.h"
#include "model/principal.h"

namespace cay::core {

// A running command's reader plus what keeps the sandbox awake meanwhile.
using Reader = std::unique_ptr<CommandReader>;

// All of these wake a stopped sandbox first (concurrent wakes are one), and fail kNotReady if they
// cannot. A paused one stays paused: no command starts in it (kNotReady, sandbox_paused). Its
// commands can be read, written to and killed, and file calls go on.
class Commands {
 public:
  virtual ~Commands() = default;
  // For facades that need the result before they answer. Fails draining or sandbox_paused where a
  // command can neither start nor be attached to.
  virtual Task<void> wake(Principal who, std::string ref) = 0;
  virtual Task<Command> start(Principal who, std::string ref, CommandSpec spec) = 0;
  // start + attach from 0 as one verb, with no gap between them.
  virtual Task<Reader> run(Principal who, std::string ref, CommandSpec spec) = 0;
  // Attaches to a command, also of a stopped sandbox (from the spools), without waking it.
  virtual Task<Reader> attach(Principal who, std::string ref, CommandId id, OutputOffsets from) = 0;
  // `more`: there is more behind it, or its end: see LiveSandbox::write_stdin (ports/runtime.h).
  virtual Task<void> write_stdin(Principal who, std::string ref, CommandId id, Bytes data,
                                 bool more) = 0;
  // attach(), and in a sandbox that runs also write_stdin() of a whole input. In one that is
  // stopped nothing is written (stdin_closed).
  virtual Task<LiveCommands::Written> write_attached(Principal who, std::string ref, CommandId id,
                                                     Bytes data, OutputOffsets from) = 0;
  virtual Task<void> close_stdin(Principal who, std::string ref, CommandId id) = 0;
  virtual Task<void> kill(Principal who, std::string ref, CommandId id, int signal) = 0;
  virtual Task<void> resize(Principal who, std::string ref, CommandId id, PtySize size) = 0;
  virtual Task<Command> get(Principal who, std::string ref, CommandId id) = 0;
  virtual Task<std::vector<Command>> list(Principal who, std::string ref) = 0;
  virtual Task<void> forget(Principal who, std::string ref, CommandId id) = 0;
};

}  // namespace cay::core
