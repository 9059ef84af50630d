// CommandLog: puts every command's start and end into the journal, once each.
//
// A keeper holds its commands' state, and sends both as numbered notes until they are on record
// (docs/decisions/0017-notes.md). The number is written together with the event, so that a restart
// recognises a repeated note. Older keepers, and those that are gone, are queried for what was
// missed.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/keeper_notes.h"
#include "core/registry.h"

namespace cay::core {

class CommandLog {
 public:
  CommandLog(std::shared_ptr<Registry> registry, Jobs& jobs);

  // After the restart brought rows and what lives together.
  Result<void> open();
  // Compares with the keepers from time to time, and records what no note reported. Spawned once.
  Task<void> run();
  void stop();

  // Before anything is opened or recorded: how far the last daemon came.
  Result<void> look_back();
  // Called around a start, whatever its result: the identity of its span, and the key that
  // requested it.
  void starting(const Entry& entry, const CommandId& id, std::string trace, std::string by);
  // The start was answered, by `live`. A command that was known before is on record, or will be.
  void started(const Entry& entry, const LiveSandbox& live, const CommandId& id,
               const Result<Command>& answer);
  // The sandbox went to another state.
  void on_state(const std::shared_ptr<Entry>& entry);

  // Called with each command whose start is reported.
  std::function<void(const Entry&, const Command&)> on_started;
  // Called with each command that ended, before the journal has it.
  std::function<void(const Entry&, const Command&, const OpenCommand&)> on_ended;

 private:
  using Key = std::pair<SandboxId, CommandId>;
  struct Origin {
    std::string trace, by;
  };
  void listen(const std::shared_ptr<Entry>& entry);
  void heard(const std::shared_ptr<Entry>& entry, NoteMark mark, const Command& command);
  void ended(const Entry& entry, const Command& command, NoteMark mark = {});
  void note_start(const Entry& entry, const Command& command, Origin origin, NoteMark mark = {});
  void note_end(const Entry& entry, const Command& command, const OpenCommand& open, NoteMark mark);
  Origin origin_of(const Entry& entry, const CommandId& id);
  Task<void> catch_up(std::shared_ptr<Entry> entry);
  Task<void> settle(std::shared_ptr<Entry> entry);
  void compare(const Entry& entry, const std::set<CommandId>& open_before,
               const std::vector<Command>& found);
  void flush_soon();
  static Task<void> flush_job(CommandLog* log, std::shared_ptr<Registry> registry,
                              std::shared_ptr<Event> wake, std::weak_ptr<bool> flushing,
                              Event::Deadline at);

  std::shared_ptr<Registry> registry_;
  Jobs& jobs_;
  std::map<SandboxId, std::map<CommandId, OpenCommand>> open_;
  KeeperNotes notes_;
  std::map<Key, Origin> origins_;  // starts under way
  // Ends that came before their start was answered, from keepers without notes. They are reported
  // with the start, or at the next comparison.
  std::map<Key, Command> early_;
  int comparing_ = 0;              // comparisons under way
  std::set<Key> ended_meanwhile_;  // while there are any
  UnixMillis unsure_since_ = 0;    // a start before that is in the journal
  std::shared_ptr<bool> flushing_ =
      std::make_shared<bool>(false);  // jobs and handlers may outlive us
  Event::Deadline flushed_{};         // the last time
  bool stopped_ = false;
  std::shared_ptr<Event> wake_;
};

}  // namespace cay::core
