#include "store/link_table.h"

namespace cay::store {
namespace {

std::optional<std::int64_t> number_or_null(const db::Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.number(column);
}

}  // namespace

Result<void> LinkTable::put(const Link& link) {
  CAY_TRY(
      db::Statement row,
      db_.prepare(
          "INSERT INTO link (id, sandbox_id, tenant, port, path, user, workdir, content_type, "
          "inline_shown, lifetime_s, "
          "created_by, created_at, expires_at, expires_mark, secret_hash) "
          "SELECT ?,?2,?,?,?,?,?,?,?,?,?,?,?,?,? WHERE EXISTS (SELECT 1 FROM sandbox WHERE id = "
          "?2) RETURNING id"));
  const LinkSpec& spec = link.spec;
  row.bind(link.id.get())
      .bind(link.sandbox.get())
      .bind(link.tenant.get())
      .bind(std::int64_t{spec.port});
  row.bind(spec.path).bind(spec.user).bind(spec.workdir).bind(spec.content_type);
  row.bind(std::int64_t{spec.inline_shown ? 1 : 0}).bind(spec.lifetime_s);
  row.bind(link.created_by)
      .bind(link.created_at)
      .bind(link.expires_at)
      .bind(link.expires_mark)
      .bind(to_hex(link.hash));
  CAY_TRY(const bool put, row.step());
  if (!put)
    return Error{Code::kNotFound, "sandbox_not_found", "no sandbox " + link.sandbox.get(), 0};
  return row.run();
}

Result<void> LinkTable::erase(const std::vector<LinkId>& ids) {
  CAY_TRY(db::Transaction transaction, db::Transaction::begin(db_));
  for (const auto& id : ids) {
    CAY_TRY(db::Statement row, db_.prepare("DELETE FROM link WHERE id = ?"));
    CAY_CHECK(row.bind(id.get()).run());
  }
  return transaction.commit();
}

Result<std::vector<Link>> LinkTable::rows() {
  CAY_TRY(
      db::Statement rows,
      db_.prepare_once(
          "SELECT id, sandbox_id, tenant, port, path, user, workdir, content_type, inline_shown, "
          "lifetime_s, created_by, created_at, expires_at, expires_mark, secret_hash FROM link"));
  std::vector<Link> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    Link link;
    link.id = LinkId(rows.text(0));
    link.sandbox = SandboxId(rows.text(1));
    link.tenant = TenantId(rows.text(2));
    link.spec.port = static_cast<std::uint16_t>(rows.number(3));
    link.spec.path = rows.text(4);
    link.spec.user = rows.text(5);
    link.spec.workdir = rows.text(6);
    link.spec.content_type = rows.text(7);
    link.spec.inline_shown = rows.number(8) != 0;
    link.spec.lifetime_s = number_or_null(rows, 9);
    link.created_by = rows.text(10);
    link.created_at = rows.number(11);
    link.expires_at = number_or_null(rows, 12);
    link.expires_mark = number_or_null(rows, 13);
    const auto hash = hash_from_hex(rows.text(14));
    if (!hash) continue;  // it can open nothing
    link.hash = *hash;
    out.push_back(std::move(link));
  }
}

}  // namespace cay::store
