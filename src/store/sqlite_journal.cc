#include "store/sqlite_journal.h"

#include <algorithm>

namespace cay::store {
namespace {

std::uint64_t most_event_bytes(const StoreOptions& options) {
  constexpr std::uint64_t kSane = 1ull << 40;
  return std::max(options.keep_event_bytes, std::min(options.keep_events, kSane) * kEventBytes);
}

}  // namespace

SqliteJournal::SqliteJournal(DataLock lock, std::unique_ptr<db::Database> db,
                             std::unique_ptr<WalSync> sync, const StoreOptions& options)
    : SqliteFile(std::move(lock), std::move(db), std::move(sync)),
      journal_(this->db(), options.keep_events, most_event_bytes(options)) {}

Result<void> SqliteJournal::flush_events() {
  if (!journal_.pending()) return {};
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(db()));
  return commit(std::move(transaction), nullptr);
}

Result<void> SqliteJournal::commit(db::Transaction transaction, const EventRecord* event,
                                   const SandboxId* erased) {
  auto done = journal_.write(event);
  if (done && erased != nullptr) done = journal_.forget_commands(*erased);
  if (done) done = transaction.commit();
  if (!done) {
    journal_.rolled_back();
    return done;
  }
  journal_.committed();
  if (on_events_) on_events_();
  return {};
}

}  // namespace cay::store
