// Database, Statement and Transaction: SQLite with destructors and Results. One thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cay::db {

// How errors name a database, and what they advise where its file is damaged.
struct Naming {
  std::string subject = "the database";
  std::string if_damaged{};
};

class Database;

// A prepared statement while it runs: bound in order, stepped, and made ready for its next use when
// destroyed.
class Statement {
 public:
  Statement(const Database& db, sqlite3_stmt* prepared, bool owned = false)
      : db_(&db), prepared_(prepared), owned_(owned) {}
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& bind(const std::string& text);
  Statement& bind(std::int64_t number);
  Statement& bind_null();
  Statement& bind(const std::optional<std::string>& text);
  Statement& bind(const std::optional<std::int64_t>& number);

  // True: a row; false: done. Fails kAlreadyExists (reason unique) on a unique constraint,
  // kUnavailable (store_failed) otherwise.
  Result<bool> step();
  // step() to the end.
  Result<void> run();

  std::string text(int column) const;
  std::int64_t number(int column) const;
  bool is_null(int column) const;

 private:
  const Database* db_;
  sqlite3_stmt* prepared_;
  bool owned_;
  int bound_ = 0;
};

// Returns how many calls of this process failed: the disk, the file or a bug. Broken constraints do
// not count.
std::uint64_t failures();
// Counts a failure that SQLite does not see, such as one to sync its log.
void count_failure();

class Database {
 public:
  // Opens or makes the file. Fails kUnavailable (store_failed).
  static Result<std::unique_ptr<Database>> open(const std::string& path, Naming naming = {});
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // A statement prepared once and kept.
  Result<Statement> prepare(const std::string& sql);
  // One that is used once: its text differs from call to call.
  Result<Statement> prepare_once(const std::string& sql);
  // Any number of statements without parameters or rows.
  Result<void> execute(const std::string& sql);

  // Sets a function that is called after each commit, when the commit is in the log's file. The
  // database has a write-ahead log.
  void on_commit(std::function<void()> called);

  // Returns the error of the last call that failed, and counts it.
  Error last_error() const;

 private:
  Database(sqlite3* db, Naming naming) : db_(db), naming_(std::move(naming)) {}
  sqlite3* db_;
  Naming naming_;
  std::map<std::string, sqlite3_stmt*> prepared_;
  std::function<void()> committed_;
};

// Begins at once with the right to write (BEGIN IMMEDIATE). Rolls back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& db);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& db) : db_(&db) {}
  Database* db_;
};

// Copies the database `from` to the new file `to` (mode 0600) as of one moment, by SQLite's backup
// API: another process may go on writing meanwhile. Fails kUnavailable (store_failed).
Result<void> copy_database(const std::string& from, const std::string& to);

}  // namespace cay::db
