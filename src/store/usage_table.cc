#include "store/usage_table.h"

#include "store/rows.h"

namespace cay::store {
namespace {

std::int64_t stored(std::uint64_t number) { return static_cast<std::int64_t>(number); }
std::uint64_t counted(std::int64_t number) { return static_cast<std::uint64_t>(number); }

UsageTotals read_totals(const db::Statement& row, int first) {
  UsageTotals out;
  out.cpu_usec = counted(row.number(first));
  out.memory_mib_ms = counted(row.number(first + 1));
  out.running_ms = counted(row.number(first + 2));
  out.bytes_in = counted(row.number(first + 3));
  out.bytes_out = counted(row.number(first + 4));
  return out;
}

void bind_totals(db::Statement& row, const UsageTotals& totals) {
  row.bind(stored(totals.cpu_usec))
      .bind(stored(totals.memory_mib_ms))
      .bind(stored(totals.running_ms));
  row.bind(stored(totals.bytes_in)).bind(stored(totals.bytes_out));
}

}  // namespace

Result<void> UsageTable::put(const std::vector<UsageRow>& rows) {
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(db_));
  for (const auto& usage : rows) {
    CAY_TRY(
        db::Statement row,
        db_.prepare(
            "INSERT OR REPLACE INTO usage (sandbox_id, tenant, labels, looked_at, life_cpu_usec, "
            "life_memory_bytes, cpu_usec, memory_mib_ms, running_ms, bytes_in, bytes_out) "
            "VALUES (?,?,?,?,?,?,?,?,?,?,?)"));
    row.bind(usage.sandbox_id.get())
        .bind(usage.tenant.get())
        .bind(encode(usage.labels))
        .bind(usage.looked_at);
    row.bind(stored(usage.cpu_usec)).bind(stored(usage.memory_bytes));
    bind_totals(row, usage.totals);
    CAY_CHECK(row.run());
  }
  return transaction.commit();
}

Result<std::vector<UsageRow>> UsageTable::rows() {
  CAY_TRY(db::Statement rows,
          db_.prepare_once(
              "SELECT sandbox_id, tenant, labels, looked_at, life_cpu_usec, life_memory_bytes, "
              "cpu_usec, memory_mib_ms, running_ms, bytes_in, bytes_out FROM usage"));
  std::vector<UsageRow> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    UsageRow usage;
    usage.sandbox_id = SandboxId(rows.text(0));
    usage.tenant = TenantId(rows.text(1));
    CAY_TRY(usage.labels, decode(rows.text(2)));
    usage.looked_at = rows.number(3);
    usage.cpu_usec = counted(rows.number(4));
    usage.memory_bytes = counted(rows.number(5));
    usage.totals = read_totals(rows, 6);
    out.push_back(std::move(usage));
  }
}

Result<void> UsageTable::retire(const SandboxId& sandbox) {
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(db_));
  std::string tenant;
  std::string labels;
  UsageTotals totals;
  {
    CAY_TRY(
        db::Statement row,
        db_.prepare("DELETE FROM usage WHERE sandbox_id = ? RETURNING tenant, labels, cpu_usec, "
                    "memory_mib_ms, running_ms, bytes_in, bytes_out"));
    CAY_TRY(const bool found, row.bind(sandbox.get()).step());
    if (!found) return {};  // retired before
    tenant = row.text(0);
    labels = row.text(1);
    totals = read_totals(row, 2);
    CAY_CHECK(row.run());
  }
  {
    CAY_TRY(
        db::Statement sets,
        db_.prepare(
            "SELECT count(*), count(*) FILTER (WHERE labels = ?2) FROM usage_retired WHERE tenant "
            "= ?1"));
    CAY_TRY(const bool row, sets.bind(tenant).bind(labels).step());
    if (row && sets.number(1) == 0 && sets.number(0) >= kMostLabelSets) labels = "{}";
  }
  {
    CAY_TRY(db::Statement row,
            db_.prepare(
                "INSERT INTO usage_retired (tenant, labels, sandboxes, cpu_usec, memory_mib_ms, "
                "running_ms, bytes_in, "
                "bytes_out) VALUES (?,?,1,?,?,?,?,?) ON CONFLICT (tenant, labels) DO UPDATE SET "
                "sandboxes = sandboxes + 1, cpu_usec = cpu_usec + excluded.cpu_usec, "
                "memory_mib_ms = memory_mib_ms + excluded.memory_mib_ms, "
                "running_ms = running_ms + excluded.running_ms, bytes_in = bytes_in + "
                "excluded.bytes_in, "
                "bytes_out = bytes_out + excluded.bytes_out"));
    row.bind(tenant).bind(labels);
    bind_totals(row, totals);
    CAY_CHECK(row.run());
  }
  return transaction.commit();
}

Result<UsageReport> UsageTable::retired(const TenantId& tenant, const UsageQuery& query) {
  CAY_TRY(db::Statement rows,
          db_.prepare(
              "SELECT labels, sandboxes, cpu_usec, memory_mib_ms, running_ms, bytes_in, bytes_out "
              "FROM usage_retired WHERE tenant = ?"));
  rows.bind(tenant.get());
  UsageReport out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    CAY_TRY(const auto labels, decode(rows.text(0)));
    UsageSum sum;
    sum.sandboxes = counted(rows.number(1));
    sum.totals = read_totals(rows, 2);
    add(out, query, labels, sum);
  }
}

}  // namespace cay::store
