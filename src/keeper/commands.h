// Commands: every command that this keeper knows, by id: get-or-create, retention, and the daemon's
// requests about one.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "keeper/command.h"
#include "keeper/loop.h"
#include "keeper/outbox.h"
#include "keeper/readers.h"
#include "wire/messages.h"

namespace cay::keeper {

class Commands : public CommandEvents {
 public:
  static constexpr std::size_t kMostKept = 100'000;

  Commands(Workshop shop, Readers& readers, std::uint32_t max_running);

  void start(ReplyTo to, wire::StartCommand request);
  void attach(ReplyTo to, wire::Attach request);
  void write_stdin(ReplyTo to, wire::Stdin request);
  void close_stdin(ReplyTo to, const wire::CommandRef& request);
  void kill(ReplyTo to, const wire::Kill& request);
  void resize(ReplyTo to, const wire::Resize& request);
  void get(ReplyTo to, const wire::CommandRef& request);
  void forget(ReplyTo to, const wire::CommandRef& request);
  // The first command after `after` in the order of ids, or nullopt at the end. For a listing that
  // goes on as the connection takes it. Commands that are being started are left out.
  std::optional<std::pair<std::string, wire::CommandMsg>> next_after(const std::string& after);

  // No new commands, and the clocks of the others stand still, until let_go(); `when_settled` runs
  // once no start is under way.
  void hold(std::function<void()> when_settled);
  void let_go();

  std::uint32_t running() const;
  // While no daemon is there nothing expires, for neither it nor its clients know of the ends.
  // Earlier readers have time to come back.
  void daemon_left();
  void daemon_returned();
  // It is about to leave, and passes nobody's end on any more: who reads now counts as cut off, and
  // nothing expires from here on.
  void daemon_parts();
  // Kills everything; `done` once all ends are recorded with the last byte of their output, or
  // after `patience_ms`.
  void shut_down(std::int64_t patience_ms, std::function<void()> done);

  void on_started(Command& command, Result<void> result) override;
  void on_output(Command& command) override;
  void on_ended(Command& command) override;
  void on_settled(Command& command) override;

 private:
  // Small: there may be a hundred thousand of them.
  struct Entry {
    std::string digest;
    std::unique_ptr<Command> live;  // until nothing more can come of it
    std::weak_ptr<Tape> tape;       // of a settled one, while someone reads it
    std::int64_t ttl_ms = -1;
    std::int64_t ended_at = -1;  // monotonic; set at its end, as is expires_at
    std::int64_t expires_at = -1;
    bool awaits_reader = false;  // a caller got its id and is about to attach
  };
  // Runs once the command's start is decided: with the command or with why there is none.
  using WhenStarted = std::function<void(Entry*, const Error*)>;

  // The entry of `id`, also of one that an earlier life of the sandbox left in the spool.
  std::map<std::string, Entry>::iterator find(const std::string& id);
  // Takes up what earlier lives left: some of it now and then, all of it for a listing.
  void recall_some();
  void recall(const std::string& id);
  void with(ReplyTo to, const std::string& id,
            std::function<void(const std::string&, Entry&)> action);
  Result<std::shared_ptr<Tape>> tape_of(const std::string& id, Entry& entry);
  void answer_command(ReplyTo to, const std::string& id, Entry& entry, bool known);
  void expire_later(const std::string& id, Entry& entry, std::int64_t since);
  void reschedule(const std::string& id, Entry& entry);
  void await_reader(const std::string& id, Entry& entry);
  void expire();
  bool is_read(const Entry& entry) const {
    return entry.live ? entry.live->readers() > 0 : !entry.tape.expired();
  }
  void drop(std::map<std::string, Entry>::iterator entry);
  void bury(std::unique_ptr<Command> command);
  void check_shut_down();
  void check_hold();

  Workshop shop_;
  Readers& readers_;
  std::uint32_t max_running_;
  std::map<std::string, Entry> entries_;
  std::set<std::string> earlier_;  // in the spool since before this life, not yet among the entries
  Timer recall_timer_;
  std::unordered_map<std::string, std::vector<WhenStarted>> starting_;
  std::unordered_map<const Command*, std::unique_ptr<Command>> draining_;  // forgotten, not settled
  std::uint32_t live_ = 0;                                                 // starting or running
  std::uint32_t unsettled_ = 0;  // these, and those of which more may come
  std::set<std::pair<std::int64_t, std::string>> expiry_;
  Timer expiry_timer_;
  bool daemon_here_ = false;
  bool held_ = false;
  std::function<void()> when_held_;
  bool shutting_down_ = false;
  std::function<void()> shut_down_done_;
  Timer shut_down_timer_;
};

}  // namespace cay::keeper
