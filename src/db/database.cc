#include "db/database.h"

#include <sqlite3.h>

#include <atomic>
#include <utility>

namespace cay::db {
namespace {

constexpr int kBusyMillis = 5000;  // another process (a backup) holds the file

std::atomic<std::uint64_t>& failure_count() {
  static std::atomic<std::uint64_t> count{0};
  return count;
}

}  // namespace

std::uint64_t failures() { return failure_count(); }
void count_failure() { ++failure_count(); }

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      prepared_(std::exchange(other.prepared_, nullptr)),
      owned_(other.owned_),
      bound_(other.bound_) {}

Statement::~Statement() {
  if (prepared_ == nullptr) return;
  if (owned_) {
    sqlite3_finalize(prepared_);
    return;
  }
  sqlite3_reset(prepared_);
  sqlite3_clear_bindings(prepared_);
}

Statement& Statement::bind(const std::string& text) {
  // SQLITE_TRANSIENT: SQLite copies, so that temporaries may be bound.
  sqlite3_bind_text64(prepared_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);  // NOLINT
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  sqlite3_bind_int64(prepared_, ++bound_, number);
  return *this;
}

Statement& Statement::bind_null() {
  sqlite3_bind_null(prepared_, ++bound_);
  return *this;
}

Statement& Statement::bind(const std::optional<std::string>& text) {
  return text ? bind(*text) : bind_null();
}
Statement& Statement::bind(const std::optional<std::int64_t>& number) {
  return number ? bind(*number) : bind_null();
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(prepared_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return db_->last_error();
}

Result<void> Statement::run() {
  for (;;) {
    CAY_TRY(const bool row, step());
    if (!row) return {};
  }
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(prepared_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(prepared_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(prepared_, column); }
bool Statement::is_null(int column) const {
  return sqlite3_column_type(prepared_, column) == SQLITE_NULL;
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Naming naming) {
  sqlite3* raw = nullptr;
  // One thread uses it, so no call needs a lock.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  std::unique_ptr<Database> db(new Database(raw, std::move(naming)));
  if (code != SQLITE_OK) {
    if (raw == nullptr)
      return Error{Code::kUnavailable, "store_failed", "no memory to open " + path, 0};
    return db->last_error().while_doing("open " + path);
  }
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyMillis);
  return db;
}

Database::~Database() {
  for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Result<Statement> Database::prepare(const std::string& sql) {
  const auto found = prepared_.find(sql);
  if (found != prepared_.end()) return Statement(*this, found->second);
  sqlite3_stmt* statement = nullptr;
  const int size = static_cast<int>(sql.size());
  if (sqlite3_prepare_v3(db_, sql.c_str(), size, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return last_error();
  }
  prepared_[sql] = statement;
  return Statement(*this, statement);
}

Result<Statement> Database::prepare_once(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int size = static_cast<int>(sql.size());
  if (sqlite3_prepare_v3(db_, sql.c_str(), size, 0, &statement, nullptr) != SQLITE_OK)
    return last_error();
  return Statement(*this, statement, true);
}

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return last_error();
  return {};
}

void Database::on_commit(std::function<void()> called) {
  committed_ = std::move(called);
  // The hook takes the place of SQLite's own, which does this with the log:
  // sqlite3_wal_autocheckpoint.
  constexpr int kCheckpointPages = 1000;
  const auto hook = [](void* self, sqlite3* db, const char* name, int pages) {
    if (pages >= kCheckpointPages)
      sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    static_cast<Database*>(self)->committed_();
    return SQLITE_OK;
  };
  sqlite3_wal_hook(db_, hook, this);
}

Error Database::last_error() const {
  const int code = sqlite3_extended_errcode(db_);
  if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY) {
    return {Code::kAlreadyExists, "unique", sqlite3_errmsg(db_), 0};
  }
  count_failure();
  std::string message = naming_.subject + " failed: " + sqlite3_errmsg(db_);
  if ((code & 0xff) == SQLITE_FULL) message += "; free space on the disk of the data directory";
  const bool damaged = (code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT;
  if (damaged && !naming_.if_damaged.empty()) message += "; " + naming_.if_damaged;
  return {Code::kUnavailable, "store_failed", std::move(message), 0};
}

Result<Transaction> Transaction::begin(Database& db) {
  CAY_TRY(Statement begin, db.prepare("BEGIN IMMEDIATE"));
  CAY_CHECK(begin.run());
  return Transaction(db);
}

Transaction::~Transaction() {
  if (db_ == nullptr) return;
  // SQLite may have rolled back by itself (a full disk): then this fails, and that is as well.
  const auto rolled_back = db_->execute("ROLLBACK");
  (void)rolled_back;
}

Result<void> Transaction::commit() {
  CAY_TRY(Statement commit, db_->prepare("COMMIT"));
  CAY_CHECK(commit.run());
  db_ = nullptr;
  return {};
}

}  // namespace cay::db
