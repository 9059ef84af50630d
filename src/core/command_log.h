// CommandLog: sees to it that the journal tells of every command's start and of its end, once each. A
// command's state lives with its keeper: what was missed (the daemon was away, a word was lost) is asked
// for. What is still open is in the store, so a restart goes on where it was.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/registry.h"

namespace cay::core {

class CommandLog {
 public:
  CommandLog(std::shared_ptr<Registry> registry, Runtime& runtime, Jobs& jobs);

  // After the restart brought rows and what lives together.
  Result<void> open();
  // Asks for what was missed, now and then. Spawned once.
  Task<void> run();
  void stop();

  // A start was answered. One that was known before is told already, or will be.
  void started(const Entry& entry, const Command& command, std::string trace = {});
  // The sandbox went to another state.
  void on_state(const std::shared_ptr<Entry>& entry);

  // Called with each command that ended, before the journal has it.
  std::function<void(const Entry&, const Command&, const OpenCommand&)> on_ended;

 private:
  using Key = std::pair<SandboxId, CommandId>;
  enum class Missing { kLost, kLeft };  // what becomes of open commands that nobody knows

  void listen(const std::shared_ptr<Entry>& entry);
  void ended(const Entry& entry, const Command& command);
  void note_start(const Entry& entry, const Command& command, std::string trace);
  void note_end(const Entry& entry, const Command& command, const OpenCommand& open);
  Task<void> catch_up(std::shared_ptr<Entry> entry);
  Task<void> settle(std::shared_ptr<Entry> entry);
  void compare(const Entry& entry, const std::set<CommandId>& open_before, const std::vector<Command>& found);
  void flush_soon();
  static Task<void> flush_job(std::shared_ptr<Registry> registry, std::shared_ptr<Event> wake,
                              std::weak_ptr<bool> flushing);

  std::shared_ptr<Registry> registry_;
  Runtime& runtime_;
  Jobs& jobs_;
  std::map<SandboxId, std::map<CommandId, OpenCommand>> open_;
  // Ends that came before their start was answered; told as soon as it is, or at the next look.
  std::map<Key, Command> early_;
  int comparing_ = 0;             // looks under way
  std::set<Key> ended_meanwhile_; // while there are any
  UnixMillis unsure_since_ = 0;   // a start before that is in the journal
  std::shared_ptr<bool> flushing_ = std::make_shared<bool>(false);  // jobs and handlers may outlive us
  bool stopped_ = false;
  std::shared_ptr<Event> wake_;
};

}  // namespace cay::core
