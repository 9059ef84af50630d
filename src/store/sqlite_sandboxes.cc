#include "store/sqlite_sandboxes.h"

#include "store/rows.h"
#include "store/setting_columns.h"

namespace cay::store {
namespace {

const std::string kSelect = std::string("SELECT ") + columns() + " FROM sandbox ";

// Callers can break the constraints of names and claims. Ids are random.
Error named(Error error, const Sandbox& sandbox) {
  if (error.code != Code::kAlreadyExists) return error;
  if (error.message.find("sandbox.claim") != std::string::npos) {
    return {Code::kAlreadyExists, "claim_in_use",
            "the claim '" + sandbox.claim + "' is held by another sandbox: try again", 0};
  }
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

}  // namespace

Result<void> SqliteSandboxes::insert(const Sandbox& sandbox) {
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(db()));
  {
    static const std::string kSql =
        std::string("INSERT INTO sandbox (") + columns() + ") VALUES (" + placeholders() + ")";
    CAY_TRY(db::Statement row, db().prepare(kSql));
    bind_row(row, sandbox);
    auto done = row.run();
    if (!done) return named(std::move(done).error(), sandbox);
  }
  CAY_CHECK(put_labels(sandbox));
  const EventRecord event = event_about(sandbox, "sandbox.created", sandbox.created_at);
  return commit(std::move(transaction), &event);
}

// Reads no more of the row than it must: this runs at each change of a state.
Result<std::optional<SqliteSandboxes::Before>> SqliteSandboxes::before(const Sandbox& next) {
  CAY_TRY(db::Statement row,
          db().prepare("SELECT state, labels, tenant, name, created_at, claim FROM sandbox "
                       "WHERE id = ?"));
  CAY_TRY(const bool found, row.bind(next.id.get()).step());
  if (!found) return std::optional<Before>();
  const std::string word = row.text(0);
  const auto state = sandbox_state_from(word);
  if (!state) return store_broken("the unknown state '" + word + "'");
  return std::optional<Before>(
      {.state = *state,
       .same_labels = row.text(1) == encode(next.labels),
       .same_keys = row.text(2) == next.tenant.get() && row.text(3) == next.name &&
                    row.number(4) == next.created_at && row.text(5) == next.claim});
}

Result<std::string> SqliteSandboxes::event_type(const Before& was, const Sandbox& next) {
  if (was.state != next.state) {
    Sandbox before;
    before.state = was.state;
    return event_of(before, next);
  }
  CAY_TRY(const auto before, one("WHERE id = ?", {next.id.get()}));
  return before ? event_of(*before, next) : std::string();
}

Result<void> SqliteSandboxes::update(const Sandbox& sandbox, const std::string& by) {
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(db()));
  CAY_TRY(const auto was, before(sandbox));
  if (!was) return Error{Code::kNotFound, "sandbox_not_found", "no sandbox " + sandbox.id.get(), 0};
  CAY_TRY(std::string type, event_type(*was, sandbox));
  {
    const auto sql = [](Keys keys) {
      return "UPDATE sandbox SET " + assignments(keys) + " WHERE id = ?1";
    };
    static const std::string kAll = sql(Keys::kChange), kNoKeys = sql(Keys::kStay);
    CAY_TRY(db::Statement row, db().prepare(was->same_keys ? kNoKeys : kAll));
    bind_row(row, sandbox);
    auto done = row.run();
    if (!done) return named(std::move(done).error(), sandbox);
  }
  if (!was->same_labels) {
    CAY_TRY(db::Statement old, db().prepare("DELETE FROM sandbox_label WHERE sandbox_id = ?"));
    CAY_CHECK(old.bind(sandbox.id.get()).run());
    CAY_CHECK(put_labels(sandbox));
  }
  if (type.empty()) return transaction.commit();  // only the time of its last use: no event
  const EventRecord event = event_about(sandbox, std::move(type), sandbox.updated_at, by);
  return commit(std::move(transaction), &event);
}

Result<void> SqliteSandboxes::erase(const SandboxId& id, const std::string& by) {
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(db()));
  Sandbox gone;
  gone.id = id;
  {
    CAY_TRY(db::Statement row,
            db().prepare("DELETE FROM sandbox WHERE id = ? "  // labels cascade
                         "RETURNING tenant, name, labels, reason"));
    CAY_TRY(const bool found, row.bind(id.get()).step());
    if (!found) return {};
    gone.tenant = TenantId(row.text(0));
    gone.name = row.text(1);
    CAY_TRY(gone.labels, decode(row.text(2)));
    gone.reason = row.text(3);
    CAY_CHECK(row.run());
  }
  const EventRecord event = event_about(gone, "sandbox.deleted", system_clock().wall(), by);
  return commit(std::move(transaction), &event, &id);
}

Result<std::optional<Sandbox>> SqliteSandboxes::by_id(const TenantId& tenant, const SandboxId& id) {
  return one("WHERE tenant = ? AND id = ?", {tenant.get(), id.get()});
}

Result<std::optional<Sandbox>> SqliteSandboxes::by_name(const TenantId& tenant,
                                                        const std::string& name) {
  return one("WHERE tenant = ? AND name = ?", {tenant.get(), name});
}

Result<SandboxPage> SqliteSandboxes::list(const TenantId& tenant, const SandboxQuery& query) {
  std::string sql = kSelect + "WHERE tenant = ?";
  if (!query.name_contains.empty())
    sql += " AND name LIKE ? ESCAPE '\\'";  // LIKE ignores ASCII case
  if (query.state) sql += " AND state = ?";
  if (!query.created_by.empty()) sql += " AND created_by = ?";
  if (!query.claim.empty()) sql += " AND claim = ? AND claim <> ''";  // as the index has it
  for (const auto& label : query.labels) {
    sql += " AND EXISTS (SELECT 1 FROM sandbox_label WHERE sandbox_id = sandbox.id AND key = ?";
    sql += label.second ? " AND value = ?)" : ")";
  }
  const std::string direction = query.descending ? " DESC" : " ASC";
  sql += std::string(" ORDER BY ") + column_of(query.sort) + direction + ", id" + direction;
  sql += " LIMIT ? OFFSET ?";
  CAY_TRY(db::Statement rows, db().prepare_once(sql));
  rows.bind(tenant.get());
  if (!query.name_contains.empty()) rows.bind(like(query.name_contains));
  if (query.state) rows.bind(std::string(to_string(*query.state)));
  if (!query.created_by.empty()) rows.bind(query.created_by);
  if (!query.claim.empty()) rows.bind(query.claim);
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

Result<std::vector<Sandbox>> SqliteSandboxes::all() {
  CAY_TRY(db::Statement rows, db().prepare_once(kSelect + "ORDER BY created_at, id"));
  return read_all(rows);
}

Result<void> SqliteSandboxes::put_labels(const Sandbox& sandbox) {
  for (const auto& [key, value] : sandbox.labels) {
    CAY_TRY(db::Statement row,
            db().prepare(
                "INSERT INTO sandbox_label (sandbox_id, tenant, key, value) VALUES (?, ?, ?, ?)"));
    CAY_CHECK(row.bind(sandbox.id.get()).bind(sandbox.tenant.get()).bind(key).bind(value).run());
  }
  return {};
}

Result<std::optional<Sandbox>> SqliteSandboxes::one(const char* where,
                                                    std::initializer_list<std::string> values) {
  CAY_TRY(db::Statement row, db().prepare(kSelect + where));
  for (const auto& value : values) row.bind(value);
  CAY_TRY(const bool found, row.step());
  if (!found) return std::optional<Sandbox>();
  CAY_TRY(Sandbox sandbox, read_row(row));
  return std::optional<Sandbox>(std::move(sandbox));
}

Result<std::vector<Sandbox>> SqliteSandboxes::read_all(db::Statement& rows) {
  std::vector<Sandbox> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    CAY_TRY(Sandbox sandbox, read_row(rows));
    out.push_back(std::move(sandbox));
  }
}

}  // namespace cay::store
