// EventTable: the journal's rows. Writing happens inside a transaction of the caller's.
#pragma once
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "model/event.h"
#include "db/database.h"

namespace cay::store {

class EventTable {
 public:
  // `keep`: how many of a tenant's events are kept at least; some more stay until they are pruned
  // together. `keep_bytes`: so much text (kTextBytes) of theirs at most, whatever their number; the
  // newest event is always kept.
  EventTable(db::Database& db, std::uint64_t keep, std::uint64_t keep_bytes)
      : db_(db), keep_(keep), keep_bytes_(keep_bytes) {}

  // Keeps the event in memory until write_pending(). If the store cannot be written and more than
  // kMostPending are held, the oldest are dropped, and a "journal.dropped" event has their number.
  void hold(EventRecord event);
  bool pending() const { return !pending_.empty() || !dropped_.empty(); }

  // Numbers and writes what is held, and then `event`, if any. Held ones stay held until commit().
  Result<void> write(const EventRecord* event);
  // The transaction was committed.
  void committed();
  // It was rolled back.
  void rolled_back() {
    written_ = 0;
    skipped_.clear();
  }

  // A page ends at the query's limit, or before the event with which it would have more than 4 MiB
  // of text.
  Result<EventPage> read(const TenantId& tenant, const EventQuery& query);
  Result<std::vector<OpenCommand>> open_commands();
  Result<void> forget_commands(const SandboxId& sandbox);  // what is open, and its keeper's notes
  Result<bool> knows_command(const TenantId& tenant, const SandboxId& sandbox,
                             const CommandId& command, UnixMillis started_at);
  Result<std::map<SandboxId, NoteMark>> note_marks();
  Result<UnixMillis> newest();

 private:
  static constexpr std::size_t kMostPending = 10'000;

  // A tenant's row of event_count.
  struct Count {
    std::uint64_t last = 0, pruned = 0, bytes = 0;
    std::uint64_t added = 0;  // events, in the transaction under way
  };
  // The rows of other tables that the events of one transaction change. They are written once, at
  // the end: a command that began and ended meanwhile is then not written as one that runs.
  struct Batch {
    std::map<TenantId, Count> counts;
    std::map<std::pair<SandboxId, CommandId>, const EventRecord*> commands;  // null: it has ended
    std::map<SandboxId, NoteMark> notes;
  };
  Result<Count*> count_of(Batch& batch, const TenantId& tenant);
  Result<void> write_one(Batch& batch, const EventRecord& event);
  Result<void> write_rest(Batch& batch);
  Result<void> put_counts(Batch& batch);
  Result<std::uint64_t> skipped(const TenantId& tenant, std::uint64_t last, std::uint64_t pruned);
  // The last number that is to go; `now.pruned` if none is.
  Result<std::uint64_t> too_many(const TenantId& tenant, const Count& now);
  Result<std::uint64_t> too_large(const TenantId& tenant, const Count& now);
  // False: nothing is to go.
  Result<bool> prune(const TenantId& tenant, Count& now);

  db::Database& db_;
  std::uint64_t keep_, keep_bytes_;
  // Numbers above the pruned that a restore left out (store/backup.h). Counted at their first use.
  std::map<TenantId, std::uint64_t> skipped_;
  std::deque<EventRecord> pending_;
  std::map<TenantId, std::uint64_t> dropped_;
  std::size_t written_ = 0;  // of pending_, in the transaction under way
};

}  // namespace cay::store
