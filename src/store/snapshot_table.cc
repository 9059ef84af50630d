#include "store/snapshot_table.h"

#include <algorithm>
#include <boost/json.hpp>

#include "store/power_cut.h"
#include "store/rows.h"
#include "store/setting_columns.h"

namespace cay::store {
namespace {

namespace json = boost::json;

constexpr const char* kSnapshotColumns =
    "id, tenant, name, status, fingerprint, used_bytes, created_at, runtime, layer, origin, "
    "image_name, digest, status_message, source_sandbox, config, disk_bytes, created_by, "
    "updated_at, registry";

std::int64_t as_number(std::uint64_t number) { return static_cast<std::int64_t>(number); }

json::array list_of(const std::vector<std::string>& words) {
  json::array out;
  for (const std::string& word : words) out.emplace_back(word);
  return out;
}

json::object object_of(const std::map<std::string, std::string>& pairs) {
  json::object out;
  for (const auto& [key, value] : pairs) out.emplace(key, value);
  return out;
}

std::string config_text(const ImageConfig& config) {
  json::object out;
  if (config.run.user) out["user"] = *config.run.user;
  if (config.run.workdir) out["workdir"] = *config.run.workdir;
  if (!config.run.env.empty()) out["env"] = object_of(config.run.env);
  if (!config.entrypoint.empty()) out["entrypoint"] = list_of(config.entrypoint);
  if (!config.command.empty()) out["command"] = list_of(config.command);
  if (!config.labels.empty()) out["labels"] = object_of(config.labels);
  if (!config.ports.empty()) out["ports"] = list_of(config.ports);
  return json::serialize(out);
}

bool read_text(const json::object& in, const char* name, std::optional<std::string>& out) {
  const auto* found = in.if_contains(name);
  if (found == nullptr) return true;
  if (!found->is_string()) return false;
  out = std::string(found->get_string());
  return true;
}

bool read_list(const json::object& in, const char* name, std::vector<std::string>& out) {
  const auto* found = in.if_contains(name);
  if (found == nullptr) return true;
  if (!found->is_array()) return false;
  return std::ranges::all_of(found->get_array(), [&](const json::value& word) {
    if (word.is_string()) out.emplace_back(word.get_string());
    return word.is_string();
  });
}

bool read_pairs(const json::object& in, const char* name, std::map<std::string, std::string>& out) {
  const auto* found = in.if_contains(name);
  if (found == nullptr) return true;
  if (!found->is_object()) return false;
  return std::ranges::all_of(found->get_object(), [&](const auto& member) {
    if (member.value().is_string())
      out.emplace(std::string(member.key()), std::string(member.value().get_string()));
    return member.value().is_string();
  });
}

Result<ImageConfig> config_from(const std::string& text) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // an image's strings are bytes
  json::error_code error;
  const auto value = json::parse(text, error, {}, options);
  if (error || !value.is_object()) return store_broken("a bad configuration of a snapshot");
  const auto& in = value.get_object();
  ImageConfig out;
  if (read_text(in, "user", out.run.user) && read_text(in, "workdir", out.run.workdir) &&
      read_pairs(in, "env", out.run.env) && read_list(in, "entrypoint", out.entrypoint) &&
      read_list(in, "command", out.command) && read_pairs(in, "labels", out.labels) &&
      read_list(in, "ports", out.ports)) {
    return out;
  }
  return store_broken("a bad configuration of a snapshot");
}

Result<SnapshotInfo> read_snapshot(const db::Statement& row) {
  SnapshotInfo out;
  int column = 0;
  out.id = SnapshotId(row.text(column++));
  out.tenant = TenantId(row.text(column++));
  out.name = row.text(column++);
  out.status = row.text(column++);
  out.fingerprint = row.text(column++);
  out.used_bytes = static_cast<std::uint64_t>(row.number(column++));
  out.created_at = row.number(column++);
  out.runtime = row.text(column++);
  out.layer = LayerId(row.text(column++));
  out.origin = row.text(column++);
  out.image_name = row.text(column++);
  out.digest = row.text(column++);
  out.status_message = row.text(column++);
  out.source_sandbox = SandboxId(row.text(column++));
  CAY_TRY(out.config, config_from(row.text(column++)));
  out.disk_bytes = static_cast<std::uint64_t>(row.number(column++));
  out.created_by = row.text(column++);
  out.updated_at = row.number(column++);
  out.registry = row.text(column++);
  return out;
}

}  // namespace

Result<void> SnapshotTable::put(const SnapshotInfo& snapshot) {
  known_.reset();
  static const std::string kSql = [] {
    const std::string columns = kSnapshotColumns;
    std::string values = "?", sets;
    for (std::size_t at = columns.find(", "); at != std::string::npos;) {
      const std::size_t end = columns.find(", ", at + 2);
      const std::string column = columns.substr(at + 2, end - at - 2);
      values += ", ?";
      sets += (sets.empty() ? "" : ", ") + column + " = excluded." + column;
      at = end;
    }
    return "INSERT INTO snapshot (" + columns + ") VALUES (" + values +
           ") ON CONFLICT (id) DO UPDATE SET " + sets;
  }();
  CAY_TRY(db::Statement row, db_.prepare(kSql));
  row.bind(snapshot.id.get())
      .bind(snapshot.tenant.get())
      .bind(snapshot.name)
      .bind(snapshot.status)
      .bind(snapshot.fingerprint)
      .bind(as_number(snapshot.used_bytes))
      .bind(snapshot.created_at)
      .bind(snapshot.runtime)
      .bind(snapshot.layer.get())
      .bind(snapshot.origin)
      .bind(snapshot.image_name)
      .bind(snapshot.digest)
      .bind(snapshot.status_message)
      .bind(snapshot.source_sandbox.get())
      .bind(config_text(snapshot.config))
      .bind(as_number(snapshot.disk_bytes))
      .bind(snapshot.created_by)
      .bind(snapshot.updated_at)
      .bind(snapshot.registry);
  return row.run();
}

Result<void> SnapshotTable::put_tag(const SnapshotInfo& snapshot, const std::string& tag) {
  known_.reset();
  CAY_TRY(
      db::Statement row,
      db_.prepare("INSERT INTO snapshot_tag (tenant, name, tag, snapshot_id) VALUES (?, ?, ?, ?) "
                  "ON CONFLICT (tenant, name, tag) DO UPDATE SET "
                  "snapshot_id = excluded.snapshot_id"));
  return row.bind(snapshot.tenant.get())
      .bind(snapshot.name)
      .bind(tag)
      .bind(snapshot.id.get())
      .run();
}

Result<void> SnapshotTable::put_tagged(const SnapshotInfo& snapshot, const std::string& tag) {
  return durably(db_, [&]() -> Result<void> {
    CAY_TRY(db::Transaction transaction, db::Transaction::begin(db_));
    CAY_CHECK(put(snapshot));
    CAY_CHECK(put_tag(snapshot, tag));
    return transaction.commit();
  });
}

Result<void> SnapshotTable::erase(const SnapshotId& id) {
  known_.reset();
  CAY_TRY(db::Statement row, db_.prepare("DELETE FROM snapshot WHERE id = ?"));  // tags cascade
  return row.bind(id.get()).run();
}

Result<std::vector<SnapshotInfo>> SnapshotTable::all() {
  if (!known_) {
    CAY_TRY(known_, read_all());
  }
  return *known_;
}

Result<std::vector<SnapshotInfo>> SnapshotTable::read_all() {
  std::map<SnapshotId, std::vector<std::string>> tags;
  {
    CAY_TRY(db::Statement rows,
            db_.prepare("SELECT snapshot_id, tag FROM snapshot_tag ORDER BY tag"));
    for (;;) {
      CAY_TRY(const bool row, rows.step());
      if (!row) break;
      tags[SnapshotId(rows.text(0))].push_back(rows.text(1));
    }
  }
  static const std::string kSql =
      std::string("SELECT ") + kSnapshotColumns + " FROM snapshot ORDER BY created_at, id";
  CAY_TRY(db::Statement rows, db_.prepare(kSql));
  std::vector<SnapshotInfo> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    CAY_TRY(SnapshotInfo snapshot, read_snapshot(rows));
    if (const auto found = tags.find(snapshot.id); found != tags.end())
      snapshot.tags = std::move(found->second);
    out.push_back(std::move(snapshot));
  }
}

Result<void> SnapshotTable::put_layer(const LayerRow& layer) {
  CAY_TRY(db::Statement row,
          db_.prepare("INSERT INTO layer (id, below, chain, bytes, created_at, used_at) "
                      "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                      "below = excluded.below, chain = excluded.chain, bytes = excluded.bytes, "
                      "created_at = excluded.created_at, used_at = excluded.used_at"));
  return row.bind(layer.id.get())
      .bind(layer.below.get())
      .bind(layer.chain)
      .bind(as_number(layer.bytes))
      .bind(layer.created_at)
      .bind(layer.used_at)
      .run();
}

Result<void> SnapshotTable::erase_layer(const LayerId& id) {
  CAY_TRY(db::Statement row, db_.prepare("DELETE FROM layer WHERE id = ?"));
  return row.bind(id.get()).run();
}

Result<std::vector<LayerRow>> SnapshotTable::layers() {
  CAY_TRY(db::Statement rows,
          db_.prepare("SELECT id, below, chain, bytes, created_at, used_at FROM layer "
                      "ORDER BY created_at, id"));
  std::vector<LayerRow> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    LayerRow layer;
    layer.id = LayerId(rows.text(0));
    layer.below = LayerId(rows.text(1));
    layer.chain = rows.text(2);
    layer.bytes = static_cast<std::uint64_t>(rows.number(3));
    layer.created_at = rows.number(4);
    layer.used_at = rows.number(5);
    out.push_back(std::move(layer));
  }
}

}  // namespace cay::store
