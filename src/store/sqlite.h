// Database and Statement: SQLite with destructors and Results. One thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cay::store {

// A prepared statement while it runs: bound in order, stepped, and made ready for its next use when
// destroyed.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* prepared, bool owned = false)
      : prepared_(prepared), owned_(owned) {}
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
  sqlite3_stmt* prepared_;
  bool owned_;
  int bound_ = 0;
};

// Calls of this process that failed, but for a constraint: the disk, the file, a bug.
std::uint64_t sqlite_failures();
void count_sqlite_failure();

class Database {
 public:
  // Opens or makes the file. Fails kUnavailable (store_failed).
  static Result<std::unique_ptr<Database>> open(const std::string& path);
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

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3* db_;
  std::map<std::string, sqlite3_stmt*> prepared_;
  std::function<void()> committed_;
};

// Rolls back unless committed.
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

}  // namespace cay::store
