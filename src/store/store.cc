#include "store/store.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "store/data_lock.h"
#include "store/event_table.h"
#include "store/link_table.h"
#include "store/power_cut.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/secret_table.h"
#include "store/snapshot_table.h"
#include "db/database.h"
#include "store/usage_table.h"
#include "store/volume_table.h"

namespace cay::store {
namespace {

const std::string kSelect = std::string("SELECT ") + columns() + " FROM sandbox ";

// The name's constraint is the only one a caller can break: ids are random.
Error named(Error error, const Sandbox& sandbox) {
  if (error.code != Code::kAlreadyExists) return error;
  return {Code::kAlreadyExists, "name_in_use",
          "a sandbox named '" + sandbox.name + "' exists: choose another name or delete it", 0};
}

// For LIKE ... ESCAPE '\': '%', '_' and '\' stand for themselves.
std::string like(const std::string& text) {
  std::string out = "%";
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('%');
  return out;
}

const char* column_of(SandboxSort sort) {
  switch (sort) {
    case SandboxSort::kCreatedAt: return "created_at";
    case SandboxSort::kName: return "name";
    case SandboxSort::kState: return "state";
    case SandboxSort::kStoppedAt: return "stopped_at";
    case SandboxSort::kIdleTtl: return "idle_ttl_s";
    case SandboxSort::kDeleteAfterStop: return "delete_after_stop_s";
  }
  return "created_at";
}

std::uint64_t most_event_bytes(const StoreOptions& options) {
  constexpr std::uint64_t kSane = 1ull << 40;
  return std::max(options.keep_event_bytes, std::min(options.keep_events, kSane) * kEventBytes);
}

class SqliteStore : public core::Store {
 public:
  SqliteStore(DataLock lock, std::unique_ptr<db::Database> db, std::unique_ptr<WalSync> sync,
              const StoreOptions& options)
      : lock_(std::move(lock)),
        db_(std::move(db)),
        journal_(*db_, options.keep_events, most_event_bytes(options)),
        usage_(*db_),
        links_(*db_),
        secrets_(*db_),
        snapshots_(*db_),
        volumes_(*db_),
        sync_(std::move(sync)) {}
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;
  ~SqliteStore() override {
    const auto closed = close_politely(*db_);
    (void)closed;  // then events jump after the host's next boot, and no harm is done
  }

  Result<void> insert(const Sandbox& sandbox) override {
    CAY_TRY(db::Transaction transaction, db::Transaction::begin(*db_));
    {
      static const std::string kSql =
          std::string("INSERT INTO sandbox (") + columns() + ") VALUES (" + placeholders() + ")";
      CAY_TRY(db::Statement row, db_->prepare(kSql));
      bind_row(row, sandbox);
      auto done = row.run();
      if (!done) return named(std::move(done).error(), sandbox);
    }
    CAY_CHECK(put_labels(sandbox));
    const EventRecord event = event_about(sandbox, "sandbox.created", sandbox.created_at);
    return commit(std::move(transaction), &event);
  }

  Result<void> update(const Sandbox& sandbox, const std::string& by) override {
    CAY_TRY(db::Transaction transaction, db::Transaction::begin(*db_));
    CAY_TRY(const auto before, one("WHERE id = ?", {sandbox.id.get()}));
    if (!before)
      return Error{Code::kNotFound, "sandbox_not_found", "no sandbox " + sandbox.id.get(), 0};
    {
      static const std::string kSql =
          std::string("UPDATE sandbox SET ") + assignments() + " WHERE id = ?";
      CAY_TRY(db::Statement row, db_->prepare(kSql));
      bind_row(row, sandbox);
      row.bind(sandbox.id.get());
      auto done = row.run();
      if (!done) return named(std::move(done).error(), sandbox);
    }
    if (before->labels != sandbox.labels) {
      CAY_TRY(db::Statement old, db_->prepare("DELETE FROM sandbox_label WHERE sandbox_id = ?"));
      CAY_CHECK(old.bind(sandbox.id.get()).run());
      CAY_CHECK(put_labels(sandbox));
    }
    std::string type = event_of(*before, sandbox);
    if (type.empty()) return transaction.commit();  // only the time of its last use: no event
    const EventRecord event = event_about(sandbox, std::move(type), sandbox.updated_at, by);
    return commit(std::move(transaction), &event);
  }

  Result<void> erase(const SandboxId& id, const std::string& by) override {
    CAY_TRY(db::Transaction transaction, db::Transaction::begin(*db_));
    CAY_TRY(const auto before, one("WHERE id = ?", {id.get()}));
    if (!before) return {};
    {
      CAY_TRY(db::Statement row,
              db_->prepare("DELETE FROM sandbox WHERE id = ?"));  // labels cascade
      CAY_CHECK(row.bind(id.get()).run());
    }
    const EventRecord event = event_about(*before, "sandbox.deleted", system_clock().wall(), by);
    return commit(std::move(transaction), &event, &id);
  }

  Result<std::optional<Sandbox>> by_id(const TenantId& tenant, const SandboxId& id) override {
    return one("WHERE tenant = ? AND id = ?", {tenant.get(), id.get()});
  }

  Result<std::optional<Sandbox>> by_name(const TenantId& tenant, const std::string& name) override {
    return one("WHERE tenant = ? AND name = ?", {tenant.get(), name});
  }

  Result<SandboxPage> list(const TenantId& tenant, const SandboxQuery& query) override {
    std::string sql = kSelect + "WHERE tenant = ?";
    if (!query.name_contains.empty())
      sql += " AND name LIKE ? ESCAPE '\\'";  // LIKE ignores ASCII case
    if (query.state) sql += " AND state = ?";
    if (!query.created_by.empty()) sql += " AND created_by = ?";
    for (const auto& label : query.labels) {
      sql += " AND EXISTS (SELECT 1 FROM sandbox_label WHERE sandbox_id = sandbox.id AND key = ?";
      sql += label.second ? " AND value = ?)" : ")";
    }
    const std::string direction = query.descending ? " DESC" : " ASC";
    sql += std::string(" ORDER BY ") + column_of(query.sort) + direction + ", id" + direction;
    sql += " LIMIT ? OFFSET ?";
    CAY_TRY(db::Statement rows, db_->prepare_once(sql));
    rows.bind(tenant.get());
    if (!query.name_contains.empty()) rows.bind(like(query.name_contains));
    if (query.state) rows.bind(std::string(to_string(*query.state)));
    if (!query.created_by.empty()) rows.bind(query.created_by);
    for (const auto& [key, value] : query.labels) {
      rows.bind(key);
      if (value) rows.bind(*value);
    }
    // One row more than the limit shows whether there are more. -1 is no limit.
    rows.bind(query.limit == 0 ? std::int64_t{-1} : std::int64_t{query.limit} + 1);
    rows.bind(std::int64_t{query.offset});
    SandboxPage page;
    CAY_TRY(page.items, read_all(rows));
    if (query.limit != 0 && page.items.size() > query.limit) {
      page.more = true;
      page.items.pop_back();
    }
    return page;
  }

  Result<std::vector<Sandbox>> all() override {
    CAY_TRY(db::Statement rows, db_->prepare_once(kSelect + "ORDER BY created_at, id"));
    return read_all(rows);
  }

  core::SnapshotStore& snapshots() override { return snapshots_; }
  core::VolumeStore& volumes() override { return volumes_; }

  Result<std::optional<std::string>> get_meta(const std::string& key) override {
    CAY_TRY(db::Statement row, db_->prepare("SELECT value FROM meta WHERE key = ?"));
    CAY_TRY(const bool found, row.bind(key).step());
    if (!found) return std::optional<std::string>();
    return std::optional<std::string>(row.text(0));
  }

  Result<void> put_meta(const std::string& key, const std::string& value) override {
    CAY_TRY(db::Statement row,
            db_->prepare("INSERT INTO meta (key, value) VALUES (?, ?) "
                         "ON CONFLICT (key) DO UPDATE SET value = excluded.value"));
    return row.bind(key).bind(value).run();
  }

  void note_event(EventRecord event) override { journal_.hold(std::move(event)); }
  Result<void> flush_events() override {
    if (!journal_.pending()) return {};
    CAY_TRY(db::Transaction transaction, db::Transaction::begin(*db_));
    return commit(std::move(transaction), nullptr);
  }
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
  Result<void> put_usage(const std::vector<UsageRow>& rows) override { return usage_.put(rows); }
  Result<std::vector<UsageRow>> usage_rows() override { return usage_.rows(); }
  Result<void> retire_usage(const SandboxId& sandbox) override { return usage_.retire(sandbox); }
  Result<UsageReport> retired_usage(const TenantId& tenant, const UsageQuery& query) override {
    return usage_.retired(tenant, query);
  }

  Result<void> put_link(const Link& link) override { return links_.put(link); }
  // A right that was withdrawn must not come back.
  Result<void> erase_links(const std::vector<LinkId>& ids) override {
    return durably(*db_, [&] { return links_.erase(ids); });
  }
  Result<std::vector<Link>> links() override { return links_.rows(); }

  // An answer that it is kept, or gone, is true after a power cut.
  Result<void> put_secret(const StoredSecret& secret) override {
    return durably(*db_, [&] { return secrets_.put(secret); });
  }
  Result<void> erase_secret(const TenantId& tenant, const std::string& name) override {
    return durably(*db_, [&] { return secrets_.erase(tenant, name); });
  }
  Result<std::vector<StoredSecret>> secrets() override { return secrets_.rows(); }

  Result<void> check() override {
    return put_meta("checked_at", std::to_string(system_clock().wall()));
  }
  std::uint64_t failures() const override { return db::failures(); }

  void on_events(std::function<void()> called) override { on_events_ = std::move(called); }

 private:
  // Ends a transaction with the events held back so far, and then `event`. `erased`: a sandbox that
  // is gone with it, and its commands.
  Result<void> commit(db::Transaction transaction, const EventRecord* event,
                      const SandboxId* erased = nullptr) {
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

  Result<void> put_labels(const Sandbox& sandbox) {
    for (const auto& [key, value] : sandbox.labels) {
      CAY_TRY(
          db::Statement row,
          db_->prepare(
              "INSERT INTO sandbox_label (sandbox_id, tenant, key, value) VALUES (?, ?, ?, ?)"));
      CAY_CHECK(row.bind(sandbox.id.get()).bind(sandbox.tenant.get()).bind(key).bind(value).run());
    }
    return {};
  }

  Result<std::optional<Sandbox>> one(const char* where, std::initializer_list<std::string> values) {
    CAY_TRY(db::Statement row, db_->prepare(kSelect + where));
    for (const auto& value : values) row.bind(value);
    CAY_TRY(const bool found, row.step());
    if (!found) return std::optional<Sandbox>();
    CAY_TRY(Sandbox sandbox, read_row(row));
    return std::optional<Sandbox>(std::move(sandbox));
  }

  static Result<std::vector<Sandbox>> read_all(db::Statement& rows) {
    std::vector<Sandbox> out;
    for (;;) {
      CAY_TRY(const bool row, rows.step());
      if (!row) return out;
      CAY_TRY(Sandbox sandbox, read_row(rows));
      out.push_back(std::move(sandbox));
    }
  }

  DataLock lock_;  // let go last
  std::unique_ptr<db::Database> db_;
  EventTable journal_;
  UsageTable usage_;
  LinkTable links_;
  SecretTable secrets_;
  SnapshotTable snapshots_;
  VolumeTable volumes_;
  std::unique_ptr<WalSync> sync_;
  std::function<void()> on_events_;
};

// SQLite makes its files with the mode of the database file: it must be private before the first
// byte.
Result<void> make_private(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::from_errno(errno, "open " + path);
  return {};
}

}  // namespace

Result<std::unique_ptr<core::Store>> open_store(const std::string& data_dir, StoreOptions options) {
  CAY_TRY(DataLock lock, DataLock::take(data_dir));
  const std::string path = data_dir + "/state.db";
  CAY_CHECK(make_private(path));
  CAY_TRY(auto db, open_database(path));
  CAY_CHECK(db->execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; "
      "PRAGMA trusted_schema = OFF"));
  CAY_CHECK(migrate(*db));
  CAY_CHECK(note_opening(*db, options.boot_id));
  auto sync = keep_synced(*db, data_dir, path);
  return std::unique_ptr<core::Store>(
      std::make_unique<SqliteStore>(std::move(lock), std::move(db), std::move(sync), options));
}

}  // namespace cay::store
