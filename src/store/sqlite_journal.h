// SqliteJournal: the journal port on the store's database. The ports above it commit with events.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "store/event_table.h"
#include "store/sqlite_file.h"
#include "store/store.h"

namespace cay::store {

class SqliteJournal : public SqliteFile {
 public:
  SqliteJournal(DataLock lock, std::unique_ptr<db::Database> db, std::unique_ptr<WalSync> sync,
                const StoreOptions& options);

  void note_event(EventRecord event) override { journal_.hold(std::move(event)); }
  Result<void> flush_events() override;
  Result<EventPage> events(const TenantId& tenant, const EventQuery& query) override {
    return journal_.read(tenant, query);
  }
  Result<std::vector<OpenCommand>> open_commands() override { return journal_.open_commands(); }
  Result<bool> knows_command(const TenantId& tenant, const SandboxId& sandbox,
                             const CommandId& command, UnixMillis started_at) override {
    return journal_.knows_command(tenant, sandbox, command, started_at);
  }
  Result<std::map<SandboxId, NoteMark>> note_marks() override { return journal_.note_marks(); }
  Result<UnixMillis> newest_event() override { return journal_.newest(); }
  void on_events(std::function<void()> called) override { on_events_ = std::move(called); }

 protected:
  // Ends a transaction with the events held back so far, and then `event`. `erased`: a sandbox that
  // is gone with it, and its commands.
  Result<void> commit(db::Transaction transaction, const EventRecord* event,
                      const SandboxId* erased = nullptr);

 private:
  EventTable journal_;
  std::function<void()> on_events_;
};

}  // namespace cay::store
