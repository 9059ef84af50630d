// CommandIndex: every command that this keeper knows, by id. These are the running ones and the
// ended ones that are kept, also those that an earlier life of the sandbox left in the spool.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "keeper/command_entry.h"
#include "keeper/command_expiry.h"
#include "keeper/loop.h"
#include "keeper/command_context.h"

namespace cay::keeper {

class CommandIndex {
 public:
  explicit CommandIndex(const CommandContext& shop);

  // Returns nullptr if no such command is known.
  CommandEntry* find(const std::string& id);
  // Every command. Takes up all that earlier lives left.
  CommandEntries& all();
  void each_live(const std::function<void(Command&)>& action);
  std::size_t size() const { return entries_.size(); }
  // The record and output of a command. Fails kLost when the record is gone or broken.
  Result<std::shared_ptr<Tape>> tape_of(const std::string& id, CommandEntry& entry);
  CommandExpiry& expiry() { return expiry_; }

  // A new command, whose id is not known.
  CommandEntry& add(const std::string& id) { return entries_[id]; }
  // Its start failed: removes it from the index.
  std::unique_ptr<Command> take_failed(const Command& command);
  // It has ended, and is kept for its time to live from now on.
  void ended(const Command& command);
  // Nothing more can come of it. The index keeps its record.
  std::unique_ptr<Command> take_settled(const Command& command);
  // Removes an ended command with its record and output. Its pipes are still drained while children
  // hold them: closing the pipes would kill these children.
  void drop(std::string id);

 private:
  // Takes up what earlier lives left: some of it now and then.
  void recall_some();
  void recall(const std::string& id);

  const CommandContext& shop_;
  CommandEntries entries_;
  CommandExpiry expiry_;
  std::set<std::string> earlier_;  // in the spool since before this life, not yet among the entries
  Timer recall_timer_;
  std::unordered_map<const Command*, std::unique_ptr<Command>> draining_;  // dropped, not settled
};

}  // namespace cay::keeper
