// Command: one process tree, from its start to its one true end. Owns its pipes, its timers and its
// cgroup slot; its output and record are on the tape.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"
#include "keeper/notes.h"
#include "keeper/oom_victims.h"
#include "keeper/outbox.h"
#include "keeper/output_pipe.h"
#include "keeper/pausable_timer.h"
#include "keeper/reaper.h"
#include "keeper/slots.h"
#include "keeper/spawner.h"
#include "keeper/spool_budget.h"
#include "keeper/stdin_pipe.h"
#include "keeper/tape.h"
#include "wire/messages.h"

namespace cay::keeper {

class Command;

// The context that a command works with. It outlives the command.
struct Workshop {
  const Context& context;
  Loop& loop;
  Outbox& outbox;
  Reaper& reaper;
  Slots& slots;
  Spawner& spawner;
  StdinBudget& stdin_budget;
  SpoolBudget& spool_budget;
  Notes& notes;
  const OomVictims& oom_victims;
};

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

  Command(Workshop& shop, CommandEvents& events) : shop_(shop), events_(events) {}

  // Makes pipes, tape and slot, and starts the program; on_started comes from the loop unless this
  // fails at once.
  Result<void> begin(wire::StartCommand request);

  State state() const { return state_; }
  const std::string& id() const { return id_; }
  const std::shared_ptr<Tape>& tape() const { return tape_; }
  bool pty() const { return pty_; }
  StdinPipe& input() { return *stdin_; }

  // signal 0: SIGKILL to the whole tree. After the leader's end it reaches what is left of the
  // tree.
  Result<void> kill(int signal, const std::string& by);
  // While it is being started: if it comes to run, it is killed at once.
  void kill_at_start(const std::string& by);
  Result<void> resize(std::uint16_t rows, std::uint16_t cols);

  void reader_came();
  // `orphaned`: the daemon went, not the reader.
  void reader_left(bool orphaned);
  // Called before its readers are released. Their time to come back begins anew with the next
  // daemon. If a part of its input is held, the command is ended: it would take a part for the
  // whole, or wait for the rest for ever.
  void daemon_left();
  int readers() const { return readers_; }
  // A daemon is there again: a reader that was orphaned has so long to come back.
  void daemon_returned();
  // Its timeout and idle timeout stand still, or run on.
  void stop_clocks();
  void run_clocks();
  // From now on its output is only drained: spool and record are about to go.
  void abandon() { tape_->abandon(); }

 private:
  enum class Cause { kNone, kTimeout, kIdle, kRequest, kInputLost };

  Result<void> make_pipes(Program& program);
  Result<void> make_terminal(Program& program);
  Result<void> take_terminal();
  void close_child_ends();
  void on_start_result(Result<Started> result);
  void on_exit(const Exit& exit);
  void classify(const Exit& exit, wire::CommandMsg& record);
  // Whether children of the leader's hold its output open.
  bool has_writers() const { return out_->is_open() || (err_ && err_->is_open()); }
  void on_eof();
  // Makes `end_` the record and reports the end.
  void finish();
  void kill_tree(Cause cause, const std::string& by);
  // After our kill: a leader whose end does not come may be held by a tracer of the guest's.
  void chase_end();
  void signal_leader(int signal);
  void arm_idle();
  void save_end();
  void maybe_settled();

  Workshop& shop_;
  CommandEvents& events_;
  State state_ = State::kStarting;
  std::string id_;
  std::shared_ptr<Tape> tape_;
  Slot* slot_ = nullptr;
  pid_t pid_ = 0;
  bool pty_ = false;
  std::int64_t timeout_ms_ = 0;
  std::int64_t idle_timeout_ms_ = -1;
  bool kill_on_disconnect_ = false;
  bool close_stdin_ = false;
  bool end_tree_ = false;
  std::uint16_t rows_ = 24, cols_ = 80;

  std::vector<UniqueFd> child_ends_;  // given to the child, closed once it runs
  UniqueFd stdin_end_, out_end_, err_end_;
  UniqueFd terminal_end_;  // the child sends the terminal's keeper side here
  std::unique_ptr<OutputPipe> out_, err_;
  std::unique_ptr<StdinPipe> stdin_;

  int readers_ = 0;
  bool orphaned_ = false;
  bool clocks_stopped_ = false;
  PausableTimer timeout_, idle_;
  Timer orphan_, retry_, chase_, linger_;
  wire::CommandMsg end_;  // the record of the leader's end, while lingering

  bool chasing_ = false;

  Cause cause_ = Cause::kNone;
  std::string by_;
  std::uint32_t oom_at_kill_ = 0;
  std::uint64_t victims_at_start_ = 0;
  std::vector<std::pair<int, std::string>> sent_;  // other signals we sent, and for whom
  bool saved_ = false;
  bool settled_ = false;
};

}  // namespace cay::keeper
