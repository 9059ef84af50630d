// CommandExpiry: drops ended commands when their time to live is over. A command that is read, or
// whose reader is about to come, stays a while longer. Nothing expires while no daemon is there,
// for neither the daemon nor its clients know of the ends.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "keeper/command_entry.h"
#include "keeper/loop.h"

namespace cay::keeper {

class CommandExpiry {
 public:
  using Drop = std::function<void(std::string id)>;

  // `drop` removes the command from `entries`, and calls remove().
  CommandExpiry(Loop& loop, CommandEntries& entries, Drop drop)
      : loop_(loop), entries_(entries), drop_(std::move(drop)) {}

  // The command ended `since` milliseconds ago.
  void ended(const std::string& id, CommandEntry& entry, std::int64_t since);
  // A caller got the command's id and is about to attach.
  void await_reader(const std::string& id, CommandEntry& entry);
  void reader_came(const std::string& id, CommandEntry& entry);
  // The command is dropped.
  void remove(const std::string& id, const CommandEntry& entry);

  // Nothing expires from here on. The commands that are read now await their readers again.
  void daemon_parts();
  // Readers that were cut off have time to come back.
  void daemon_returned();

 private:
  void reschedule(const std::string& id, CommandEntry& entry);
  void expire();

  Loop& loop_;
  CommandEntries& entries_;
  Drop drop_;
  std::set<std::pair<std::int64_t, std::string>> due_;  // expires_at and id
  Timer timer_;
  bool daemon_here_ = false;
};

}  // namespace cay::keeper
