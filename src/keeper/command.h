// Command: one process tree, from its start to its one true end. Its parts own the processes, the
// pipes and the clocks. Command decides what follows from what, and makes the record.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "keeper/command_clocks.h"
#include "keeper/command_pipes.h"
#include "keeper/command_tree.h"
#include "keeper/loop.h"
#include "keeper/tape.h"
#include "keeper/command_context.h"
#include "wire/messages.h"

namespace cay::keeper {

class Command;

class CommandEvents {
 public:
  virtual ~CommandEvents() = default;
  virtual void on_started(Command& command,
                          Result<void> result) = 0;  // a failed one is over: drop it
  virtual void on_output(Command& command) = 0;
  virtual void on_ended(Command& command) = 0;    // its record is made; later bytes may come
  virtual void on_settled(Command& command) = 0;  // nothing more can come: drop it
};

class Command {
 public:
  // kLingering: the leader has ended, and children that it left may still write for a moment.
  enum class State { kStarting, kRunning, kLingering, kEnded };

  Command(const CommandContext& shop, CommandEvents& events);

  // Makes pipes, tape and slot, and starts the program; on_started comes from the loop unless this
  // fails at once.
  Result<void> begin(wire::StartCommand request);

  State state() const { return state_; }
  const std::string& id() const { return id_; }
  const std::shared_ptr<Tape>& tape() const { return tape_; }
  StdinPipe& input() { return pipes_.input(); }
  // Its readers are to be reported there. Commands stops and runs them.
  CommandClocks& clocks() { return clocks_; }
  const CommandClocks& clocks() const { return clocks_; }

  // signal 0: SIGKILL to the whole tree. After the leader's end it reaches what is left of the
  // tree.
  Result<void> kill(int signal, const std::string& by);
  // While it is being started: if it comes to run, it is killed at once.
  void kill_at_start(const std::string& by) { tree_.kill_at_start(by); }
  Result<void> resize(std::uint16_t rows, std::uint16_t cols);

  // Called before its readers are released. If a part of its input is held, the command is ended.
  // It would take a part for the whole, or wait for the rest for ever.
  void daemon_left();
  // From now on its output is only drained: spool and record are about to go.
  void abandon() { tape_->abandon(); }

 private:
  void on_start_result(Result<Started> result);
  void on_exit(const Exit& exit);
  void on_eof();
  // Makes `end_` the record and reports the end.
  void finish();
  void save_end();
  void maybe_settled();

  const CommandContext& shop_;
  CommandEvents& events_;
  State state_ = State::kStarting;
  std::string id_;
  bool end_tree_ = false;  // nothing of the tree may outlive the leader

  std::shared_ptr<Tape> tape_;
  CommandTree tree_;
  CommandPipes pipes_;
  CommandClocks clocks_;

  Timer retry_, linger_;
  wire::CommandMsg end_;  // the record of the leader's end, while lingering
  bool saved_ = false;
  bool settled_ = false;
};

}  // namespace cay::keeper
