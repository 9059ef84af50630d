#include "store/backup.h"

#include <algorithm>
#include <sstream>

#include "store/power_cut.h"
#include "store/schema.h"
#include "db/database.h"

namespace cay::store {
namespace {

Result<std::unique_ptr<db::Database>> open_known(const std::string& database) {
  CAY_TRY(auto db, open_database(database));
  CAY_CHECK(check_version(*db));
  return db;
}

Result<bool> has_column(db::Database& db, const char* table, const char* column) {
  CAY_TRY(db::Statement row,
          db.prepare_once("SELECT count(*) FROM pragma_table_info(?) WHERE name = ?"));
  row.bind(std::string(table)).bind(std::string(column));
  CAY_TRY(const bool found, row.step());
  return found && row.number(0) > 0;
}

}  // namespace

Result<std::vector<StoredSandbox>> sandboxes_in(const std::string& database) {
  CAY_TRY(const auto db, open_known(database));
  CAY_TRY(const bool layered, has_column(*db, "sandbox", "layer"));
  const std::string layer = layered ? "coalesce(nullif(layer, ''), snapshot_id)" : "snapshot_id";
  CAY_TRY(db::Statement rows,
          db->prepare_once("SELECT id, name, state, " + layer +
                           ", coalesce(stopped_at, -1) FROM sandbox ORDER BY created_at, id"));
  std::vector<StoredSandbox> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    out.push_back({rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.number(4)});
  }
}

Result<std::vector<std::string>> layers_in(const std::string& database) {
  CAY_TRY(const auto db, open_known(database));
  std::vector<std::string> out;
  CAY_TRY(const bool known, has_column(*db, "layer", "below"));
  if (!known) return out;
  std::vector<std::pair<std::string, std::string>> left;  // with the one below
  CAY_TRY(db::Statement rows, db->prepare_once("SELECT id, below FROM layer ORDER BY id"));
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) break;
    left.emplace_back(rows.text(0), rows.text(1));
  }
  const auto waits = [&](const std::string& below) {
    return std::ranges::any_of(left, [&](const auto& one) { return one.first == below; });
  };
  while (!left.empty()) {
    const auto next =
        std::ranges::find_if(left, [&](const auto& one) { return !waits(one.second); });
    if (next == left.end()) {
      return Error{Code::kInternal, "store_broken",
                   "state.db holds layers that stand on one another: restore it from a backup", 0};
    }
    out.push_back(next->first);
    left.erase(next);
  }
  return out;
}

Result<std::vector<StoredVolume>> volumes_in(const std::string& database) {
  CAY_TRY(const auto db, open_known(database));
  std::vector<StoredVolume> out;
  CAY_TRY(const bool known, has_column(*db, "volume", "disk_bytes"));
  if (!known) return out;
  CAY_TRY(db::Statement rows,
          db->prepare_once("SELECT id, name, disk_bytes FROM volume ORDER BY tenant, name"));
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    out.push_back({rows.text(0), rows.text(1), static_cast<std::uint64_t>(rows.number(2))});
  }
}

namespace {

Result<std::int64_t> one_number(db::Database& db, const char* sql) {
  CAY_TRY(db::Statement row, db.prepare_once(sql));
  CAY_TRY(const bool found, row.step());
  return found ? row.number(0) : 0;
}

// Now on the time that timers go by (core/timeline.h), which the restored daemon begins with.
Result<std::int64_t> timeline_now(db::Database& db, UnixMillis now) {
  std::int64_t out = now;
  {
    CAY_TRY(db::Statement row, db.prepare_once("SELECT value FROM meta WHERE key = 'timeline'"));
    CAY_TRY(const bool found, row.step());
    std::istringstream text(found ? row.text(0) : std::string());
    std::string boot_id;
    std::int64_t since_boot = 0, wall = 0, then = 0;
    if (text >> boot_id >> since_boot >> wall >> then)
      out = then + std::max<std::int64_t>(0, now - wall);
  }
  CAY_TRY(const auto latest,
          one_number(
              db,
              "SELECT coalesce(max(max(created_mark, active_mark, coalesce(stopped_mark, 0))), 0) "
              "FROM sandbox"));
  return std::max(out, latest);
}

Result<std::vector<std::string>> remove_without_disk(db::Database& db,
                                                     const std::set<std::string>& disks) {
  std::vector<std::pair<std::string, std::string>> gone;
  {
    CAY_TRY(db::Statement rows, db.prepare_once("SELECT id, name FROM sandbox"));
    for (;;) {
      CAY_TRY(const bool row, rows.step());
      if (!row) break;
      if (!disks.contains(rows.text(0))) gone.emplace_back(rows.text(0), rows.text(1));
    }
  }
  std::vector<std::string> names;
  for (const auto& [id, name] : gone) {
    for (const char* sql :
         {"DELETE FROM sandbox WHERE id = ?", "DELETE FROM open_command WHERE sandbox_id = ?",
          "DELETE FROM note_mark WHERE sandbox_id = ?"}) {
      CAY_TRY(db::Statement row, db.prepare_once(sql));
      CAY_CHECK(row.bind(id).run());
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> settle_restored(const std::string& database,
                                                 const RestoreFacts& facts) {
  CAY_TRY(auto db, open_database(database));
  CAY_CHECK(migrate(*db));
  CAY_CHECK(db->execute("PRAGMA foreign_keys = ON"));
  CAY_TRY(const std::int64_t mark, timeline_now(*db, facts.now));
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(*db));
  CAY_TRY(auto without_disk, remove_without_disk(*db, facts.disks));
  {
    CAY_TRY(db::Statement rows,
            db->prepare_once(
                "UPDATE sandbox SET state = 'stopped', reason = '', stopped_at = ?, updated_at = ? "
                "WHERE state IN ('ready', 'provisioning', 'paused')"));
    CAY_CHECK(rows.bind(facts.now).bind(facts.now).run());
  }
  {
    CAY_TRY(db::Statement rows,
            db->prepare_once(
                "UPDATE sandbox SET stopped_mark = ?, created_mark = min(?, created_mark + ?)"));
    CAY_CHECK(rows.bind(mark)
                  .bind(mark)
                  .bind(std::max<std::int64_t>(0, facts.now - facts.taken_at))
                  .run());
  }
  {
    // The mark of no boot. With a real one, a clock set meanwhile would give the next start another
    // time than the marks.
    CAY_TRY(db::Statement rows,
            db->prepare_once("INSERT OR REPLACE INTO meta (key, value) VALUES ('timeline', ?)"));
    CAY_CHECK(
        rows.bind("restored 0 " + std::to_string(facts.now) + " " + std::to_string(mark)).run());
  }
  {
    CAY_TRY(db::Statement rows, db->prepare_once("UPDATE event_count SET last_seq = last_seq + ?"));
    CAY_CHECK(rows.bind(kRestoredEventStep).run());
  }
  CAY_CHECK(close_politely(*db));  // the daemon that had it open is no concern of the copy
  CAY_CHECK(transaction.commit());
  return without_disk;
}

}  // namespace cay::store
