#include "store/event_table.h"

#include <algorithm>

#include "store/rows.h"

namespace cay::store {
namespace {

constexpr std::uint64_t kPruneAtOnce = 1000;  // a few milliseconds of the loop
constexpr std::uint64_t kPruneBytesAtOnce = 8u << 20;
constexpr std::uint64_t kMostPageBytes = 4u << 20;

std::int64_t stored(std::uint64_t number) { return static_cast<std::int64_t>(number); }
std::uint64_t counted(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::optional<std::int64_t> stored(const std::optional<int>& number) {
  if (!number) return std::nullopt;
  return std::int64_t{*number};
}

const char* const kEventColumns =
    "seq, at, type, sandbox_id, sandbox, labels, reason, command_id, state, ended_by, exit_code, "
    "signal";
constexpr int kTextBytesColumn = 12;  // behind those, where a page is read

// The bytes that a row's texts take. `labels` is JSON. schema.cc has the same sum.
const char* const kTextBytes =
    "length(CAST(type AS BLOB)) + length(CAST(sandbox_id AS BLOB)) + length(CAST(sandbox AS "
    "BLOB)) + length(CAST(labels AS BLOB)) + "
    "length(CAST(reason AS BLOB)) + length(CAST(command_id AS BLOB)) + length(CAST(state AS "
    "BLOB)) + length(CAST(ended_by AS BLOB))";

std::uint64_t text_bytes(const EventRecord& event, const std::string& labels) {
  return event.type.size() + event.sandbox_id.get().size() + event.sandbox.size() + labels.size() +
         event.reason.size() + event.command_id.get().size() + event.state.size() + event.by.size();
}

Result<EventRecord> read_event(const db::Statement& row, const TenantId& tenant) {
  int column = 0;
  EventRecord out;
  out.tenant = tenant;
  out.seq = counted(row.number(column++));
  out.at = row.number(column++);
  out.type = row.text(column++);
  out.sandbox_id = SandboxId(row.text(column++));
  out.sandbox = row.text(column++);
  CAY_TRY(out.labels, decode(row.text(column++)));
  out.reason = row.text(column++);
  out.command_id = CommandId(row.text(column++));
  out.state = row.text(column++);
  out.by = row.text(column++);
  if (!row.is_null(column)) out.exit_code = static_cast<int>(row.number(column));
  ++column;
  if (!row.is_null(column)) out.signal = static_cast<int>(row.number(column));
  return out;
}

// "command." means every type that begins so; GLOB's own characters stand for themselves.
std::string glob_of(const std::string& type) {
  std::string out;
  for (const char c : type) {
    if (c == '*' || c == '?' || c == '[') {
      out += std::string("[") + c + "]";
    } else {
      out.push_back(c);
    }
  }
  if (!type.empty() && type.back() == '.') out.push_back('*');
  return out;
}

}  // namespace

void EventTable::hold(EventRecord event) {
  if (pending_.size() >= kMostPending) {
    ++dropped_[pending_.front().tenant];
    pending_.pop_front();
  }
  pending_.push_back(std::move(event));
}

Result<void> EventTable::write(const EventRecord* event) {
  written_ = 0;
  Batch batch;
  for (const auto& [tenant, count] : dropped_) {
    EventRecord note;
    note.tenant = tenant;
    note.at = system_clock().wall();
    note.type = "journal.dropped";
    note.reason =
        std::to_string(count) + " events could not be written: the store failed for too long";
    CAY_CHECK(write_one(batch, note));
  }
  for (const auto& held : pending_) {
    CAY_CHECK(write_one(batch, held));
    ++written_;
  }
  if (event != nullptr) {
    CAY_CHECK(write_one(batch, *event));
  }
  return write_rest(batch);
}

void EventTable::committed() {
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(written_));
  dropped_.clear();
  written_ = 0;
}

Result<EventTable::Count*> EventTable::count_of(Batch& batch, const TenantId& tenant) {
  const auto [at, fresh] = batch.counts.try_emplace(tenant);
  if (fresh) {
    CAY_TRY(
        db::Statement row,
        db_.prepare("SELECT last_seq, pruned_through, bytes FROM event_count WHERE tenant = ?"));
    CAY_TRY(const bool found, row.bind(tenant.get()).step());
    if (found)
      at->second = {counted(row.number(0)), counted(row.number(1)), counted(row.number(2)), 0};
  }
  return &at->second;
}

Result<void> EventTable::write_one(Batch& batch, const EventRecord& event) {
  const std::string labels = encode(event.labels);
  CAY_TRY(Count* const count, count_of(batch, event.tenant));
  ++count->last;
  ++count->added;
  count->bytes += text_bytes(event, labels);
  CAY_TRY(
      db::Statement row,
      db_.prepare(
          "INSERT INTO event (tenant, seq, at, type, sandbox_id, sandbox, labels, reason, "
          "command_id, state, ended_by, exit_code, signal) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  row.bind(event.tenant.get())
      .bind(stored(count->last))
      .bind(event.at)
      .bind(event.type)
      .bind(event.sandbox_id.get());
  row.bind(event.sandbox)
      .bind(labels)
      .bind(event.reason)
      .bind(event.command_id.get())
      .bind(event.state);
  row.bind(event.by).bind(stored(event.exit_code)).bind(stored(event.signal));
  CAY_CHECK(row.run());
  if (event.type == "command.started") {
    batch.commands[{event.sandbox_id, event.command_id}] = &event;
  } else if (event.type == "command.ended") {
    batch.commands[{event.sandbox_id, event.command_id}] = nullptr;
  }
  if (event.note.life != 0) batch.notes[event.sandbox_id] = event.note;
  return {};
}

Result<void> EventTable::write_rest(Batch& batch) {
  for (const auto& [which, start] : batch.commands) {
    if (start == nullptr) {
      CAY_TRY(db::Statement row,
              db_.prepare("DELETE FROM open_command WHERE sandbox_id = ? AND command_id = ?"));
      CAY_CHECK(row.bind(which.first.get()).bind(which.second.get()).run());
      continue;
    }
    CAY_TRY(db::Statement row,
            db_.prepare(
                "INSERT OR REPLACE INTO open_command (sandbox_id, command_id, started_at, trace) "
                "VALUES (?, ?, ?, ?)"));
    CAY_CHECK(row.bind(which.first.get())
                  .bind(which.second.get())
                  .bind(start->at)
                  .bind(start->trace)
                  .run());
  }
  for (const auto& [sandbox, note] : batch.notes) {
    CAY_TRY(db::Statement row,
            db_.prepare(
                "INSERT OR REPLACE INTO note_mark (sandbox_id, life, number) VALUES (?, ?, ?)"));
    CAY_CHECK(row.bind(sandbox.get()).bind(stored(note.life)).bind(stored(note.number)).run());
  }
  return put_counts(batch);
}

Result<void> EventTable::put_counts(Batch& batch) {
  for (auto& [tenant, count] : batch.counts) {
    {
      CAY_TRY(db::Statement row,
              db_.prepare("INSERT INTO event_count (tenant, last_seq, pruned_through, bytes) "
                          "VALUES (?, ?, 0, ?) ON CONFLICT (tenant) DO UPDATE SET "
                          "last_seq = excluded.last_seq, bytes = excluded.bytes"));
      CAY_CHECK(row.bind(tenant.get()).bind(stored(count.last)).bind(stored(count.bytes)).run());
    }
    // Once for each event at most, so that a journal of before a bound goes in parts.
    for (bool more = true; more && count.added > 0; --count.added) {
      CAY_TRY(more, prune(tenant, count));
    }
  }
  return {};
}

Result<std::uint64_t> EventTable::skipped(const TenantId& tenant, std::uint64_t last,
                                          std::uint64_t pruned) {
  const auto known = skipped_.find(tenant);
  if (known != skipped_.end()) return known->second;
  CAY_TRY(db::Statement count,
          db_.prepare_once("SELECT count(*) FROM event WHERE tenant = ? AND seq > ?"));
  CAY_TRY(const bool row, count.bind(tenant.get()).bind(stored(pruned)).step());
  const std::uint64_t there = row ? counted(count.number(0)) : 0;
  return skipped_[tenant] = last - pruned - std::min(there, last - pruned);
}

Result<std::uint64_t> EventTable::too_many(const TenantId& tenant, const Count& now) {
  const std::uint64_t most = keep_ + std::min(kPruneAtOnce, keep_ / 10 + 1);
  if (now.last - now.pruned <= most) return now.pruned;
  CAY_TRY(const std::uint64_t holes, skipped(tenant, now.last, now.pruned));
  const std::uint64_t kept = now.last - now.pruned - holes;
  if (kept <= most) return now.pruned;
  const std::uint64_t surplus = std::min(kept - keep_, 2 * kPruneAtOnce);
  if (holes == 0) return now.pruned + surplus;
  CAY_TRY(db::Statement row,
          db_.prepare_once(
              "SELECT seq FROM event WHERE tenant = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?"));
  CAY_TRY(const bool found,
          row.bind(tenant.get()).bind(stored(now.pruned)).bind(stored(surplus - 1)).step());
  return found ? counted(row.number(0)) : now.pruned + surplus;
}

Result<std::uint64_t> EventTable::too_large(const TenantId& tenant, const Count& now) {
  std::uint64_t through = now.pruned;
  if (now.bytes <= keep_bytes_) return through;
  // Some more than needed, so that not each event is looked for its own; of what a journal of
  // before this bound has, a part.
  const std::uint64_t surplus =
      std::min(now.bytes - keep_bytes_ + keep_bytes_ / 16, kPruneBytesAtOnce);
  CAY_TRY(db::Statement rows,
          db_.prepare_once(
              std::string("SELECT seq, ") + kTextBytes +
              " FROM event WHERE tenant = ? AND seq > ? AND seq < ? ORDER BY seq LIMIT ?"));
  rows.bind(tenant.get())
      .bind(stored(now.pruned))
      .bind(stored(now.last))
      .bind(stored(2 * kPruneAtOnce));
  for (std::uint64_t gone = 0; gone < surplus; gone += counted(rows.number(1))) {
    CAY_TRY(const bool row, rows.step());
    if (!row) break;
    through = counted(rows.number(0));
  }
  return through;
}

Result<bool> EventTable::prune(const TenantId& tenant, Count& now) {
  CAY_TRY(const std::uint64_t surplus, too_many(tenant, now));
  CAY_TRY(const std::uint64_t heavy, too_large(tenant, now));
  const std::uint64_t through = std::max(surplus, heavy);
  if (through <= now.pruned) return false;
  std::uint64_t removed = 0, bytes = 0;
  {
    CAY_TRY(db::Statement sum,
            db_.prepare(std::string("SELECT count(*), coalesce(sum(") + kTextBytes +
                        "), 0) FROM event WHERE tenant = ? AND seq <= ?"));
    CAY_TRY(const bool row, sum.bind(tenant.get()).bind(stored(through)).step());
    if (row) {
      removed = counted(sum.number(0));
      bytes = counted(sum.number(1));
    }
  }
  const auto holes = skipped_.find(tenant);
  if (holes != skipped_.end())
    holes->second -= std::min(holes->second, through - now.pruned - removed);
  {
    CAY_TRY(
        db::Statement count,
        db_.prepare(
            "UPDATE event_count SET pruned_through = ?1, bytes = max(bytes - ?3, 0), "
            "pruned_at = max(pruned_at, coalesce("
            "(SELECT max(at) FROM event WHERE tenant = ?2 AND seq <= ?1), 0)) WHERE tenant = ?2"));
    CAY_CHECK(count.bind(stored(through)).bind(tenant.get()).bind(stored(bytes)).run());
  }
  CAY_TRY(db::Statement rows, db_.prepare("DELETE FROM event WHERE tenant = ? AND seq <= ?"));
  CAY_CHECK(rows.bind(tenant.get()).bind(stored(through)).run());
  now.pruned = through;
  now.bytes -= std::min(now.bytes, bytes);
  return true;
}

Result<EventPage> EventTable::read(const TenantId& tenant, const EventQuery& query) {
  EventPage page;
  std::uint64_t pruned = 0;
  {
    CAY_TRY(db::Statement count,
            db_.prepare("SELECT last_seq, pruned_through FROM event_count WHERE tenant = ?"));
    CAY_TRY(const bool row, count.bind(tenant.get()).step());
    if (row) {
      page.last = counted(count.number(0));
      pruned = counted(count.number(1));
    }
  }
  page.oldest = pruned + 1;
  std::uint64_t after = query.after;
  if (query.from_oldest) after = pruned;
  if (query.from_now) after = page.last;
  if (after > page.last) {
    return Error{
        Code::kOutOfRange, "event_ahead",
        "event " + std::to_string(after) + " has not happened: the newest is " +
            std::to_string(page.last) +
            ". The data directory is another one, or was restored: begin anew without after=",
        0};
  }
  if (after < pruned) {
    page.gap_begin = after + 1;
    page.gap_end = pruned;
    after = pruned;
  }
  std::string sql = std::string("SELECT ") + kEventColumns + ", " + kTextBytes +
                    " FROM event WHERE tenant = ? AND seq > ?";
  if (!query.sandbox.empty()) sql += " AND (sandbox_id = ? OR sandbox = ?)";
  for (std::size_t i = 0; i < query.types.size(); ++i)
    sql += i == 0 ? " AND (type GLOB ?" : " OR type GLOB ?";
  if (!query.types.empty()) sql += ")";
  sql += " ORDER BY seq LIMIT ?";
  CAY_TRY(db::Statement rows, db_.prepare_once(sql));
  rows.bind(tenant.get()).bind(stored(after));
  if (!query.sandbox.empty()) rows.bind(query.sandbox).bind(query.sandbox);
  for (const auto& type : query.types) rows.bind(glob_of(type));
  rows.bind(std::int64_t{query.limit});
  bool more = false;
  for (std::uint64_t bytes = 0; page.items.size() < query.limit;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) break;
    bytes += counted(rows.number(kTextBytesColumn));
    more = bytes > kMostPageBytes && !page.items.empty();
    if (more) break;
    CAY_TRY(EventRecord event, read_event(rows, tenant));
    page.items.push_back(std::move(event));
  }
  more = more || page.items.size() >= query.limit;
  page.next_after = more ? page.items.back().seq : page.last;
  return page;
}

Result<std::vector<OpenCommand>> EventTable::open_commands() {
  CAY_TRY(db::Statement rows,
          db_.prepare_once("SELECT sandbox_id, command_id, started_at, trace FROM open_command"));
  std::vector<OpenCommand> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    out.push_back({SandboxId(rows.text(0)), CommandId(rows.text(1)), rows.number(2), rows.text(3)});
  }
}

Result<void> EventTable::forget_commands(const SandboxId& sandbox) {
  {
    CAY_TRY(db::Statement rows, db_.prepare("DELETE FROM open_command WHERE sandbox_id = ?"));
    CAY_CHECK(rows.bind(sandbox.get()).run());
  }
  CAY_TRY(db::Statement row, db_.prepare("DELETE FROM note_mark WHERE sandbox_id = ?"));
  return row.bind(sandbox.get()).run();
}

Result<std::map<SandboxId, NoteMark>> EventTable::note_marks() {
  CAY_TRY(db::Statement rows, db_.prepare_once("SELECT sandbox_id, life, number FROM note_mark"));
  std::map<SandboxId, NoteMark> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    out[SandboxId(rows.text(0))] = {counted(rows.number(1)), counted(rows.number(2))};
  }
}

Result<bool> EventTable::knows_command(const TenantId& tenant, const SandboxId& sandbox,
                                       const CommandId& command, UnixMillis started_at) {
  {
    CAY_TRY(db::Statement row, db_.prepare("SELECT 1 FROM event_count WHERE tenant = ? AND "
                                           "pruned_through > 0 AND pruned_at >= ?"));
    CAY_TRY(const bool found, row.bind(tenant.get()).bind(started_at).step());
    if (found) return true;
  }
  CAY_TRY(db::Statement row, db_.prepare("SELECT 1 FROM event WHERE sandbox_id = ? AND command_id "
                                         "= ? AND command_id <> '' LIMIT 1"));
  CAY_TRY(const bool found, row.bind(sandbox.get()).bind(command.get()).step());
  if (found) return true;
  for (const auto& held : pending_) {
    if (held.sandbox_id == sandbox && held.command_id == command) return true;
  }
  return false;
}

Result<UnixMillis> EventTable::newest() {
  CAY_TRY(db::Statement row,
          db_.prepare_once(
              "SELECT max((SELECT event.at FROM event WHERE event.tenant = event_count.tenant "
              "ORDER BY event.seq DESC LIMIT 1)) FROM event_count"));
  CAY_TRY(const bool found, row.step());
  return found && !row.is_null(0) ? row.number(0) : UnixMillis{0};
}

}  // namespace cay::store
