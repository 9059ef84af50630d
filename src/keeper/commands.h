// Commands: the lives of all commands of this keeper. It starts them, follows them to their ends,
// and holds or kills all of them together.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "keeper/command.h"
#include "keeper/command_index.h"
#include "keeper/loop.h"
#include "keeper/readers.h"
#include "keeper/command_context.h"
#include "wire/messages.h"

namespace cay::keeper {

class Commands : public CommandEvents {
 public:
  static constexpr std::size_t kMostKept = 100'000;
  // Runs once a command's start is decided: with the command or with why there is none.
  using WhenStarted = std::function<void(CommandEntry*, const Error*)>;

  Commands(const CommandContext& shop, CommandIndex& index, Readers& readers,
           std::uint32_t max_running);

  // Starts a command whose id is not known. Fails (by `action`): shutting_down,
  // start_too_late, sandbox_paused, too_many_running, too_many_commands, or as Spawner::start().
  void start(wire::StartCommand request, WhenStarted action);
  // `entry`: the command of that id. Fails (by `action`): too_many_requests, or as the start does.
  void when_started(const std::string& id, CommandEntry& entry, WhenStarted action);

  // No new commands, and the clocks of the others stand still, until let_go(); `when_settled` runs
  // once no start is under way.
  void hold(std::function<void()> when_settled);
  void let_go();

  std::uint32_t running() const { return live_; }
  // While no daemon is there nothing expires. Earlier readers have time to come back.
  void daemon_left();
  void daemon_returned();
  // It is about to leave, and passes nobody's end on any more: who reads now counts as cut off, and
  // nothing expires from here on.
  void daemon_parts() { index_.expiry().daemon_parts(); }
  // Kills everything; `done` once all ends are recorded with the last byte of their output, or
  // after `patience_ms`.
  void shut_down(std::int64_t patience_ms, std::function<void()> done);

  void on_started(Command& command, Result<void> result) override;
  void on_output(Command& command) override;
  void on_ended(Command& command) override;
  void on_settled(Command& command) override;

 private:
  // Whether a new command may be started now.
  Result<void> admit(const wire::StartCommand& request) const;
  // Destroys a command from a callback of its own: when the callback is over.
  void bury(std::unique_ptr<Command> command);
  void check_shut_down();
  void check_hold();

  const CommandContext& shop_;
  CommandIndex& index_;
  Readers& readers_;
  std::uint32_t max_running_;
  std::unordered_map<std::string, std::vector<WhenStarted>> starting_;
  std::uint32_t live_ = 0;       // starting or running
  std::uint32_t unsettled_ = 0;  // these, and those of which more may come
  bool held_ = false;
  std::function<void()> when_held_;
  bool shutting_down_ = false;
  std::function<void()> shut_down_done_;
  Timer shut_down_timer_;
};

}  // namespace cay::keeper
