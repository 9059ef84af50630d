#include "store/rows.h"

#include <boost/json.hpp>
#include <string_view>

#include "store/secret_table.h"
#include "store/setting_columns.h"

namespace cay::store {
namespace {

std::int64_t stored(std::uint64_t number) { return static_cast<std::int64_t>(number); }

std::optional<std::string> text_or_null(const db::Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.text(column);
}

// The columns but those of the settings, which follow them.
constexpr const char* kOwnColumns[] = {"id",
                                       "tenant",
                                       "name",
                                       "state",
                                       "reason",
                                       "snapshot_name",
                                       "snapshot_id",
                                       "labels",
                                       "cpu_millicores",
                                       "memory_bytes",
                                       "disk_bytes",
                                       "pids",
                                       "run_user",
                                       "run_workdir",
                                       "run_env",
                                       "policy",
                                       "created_at",
                                       "updated_at",
                                       "last_active_at",
                                       "stopped_at",
                                       "created_by",
                                       "created_mark",
                                       "active_mark",
                                       "stopped_mark",
                                       "network_state",
                                       "network_reason",
                                       "proxy",
                                       "rules",
                                       "runtime",
                                       "layer",
                                       "claim",
                                       "notes"};

std::string joined(std::string (*form)(const std::string& column)) {
  std::string out;
  const auto add = [&](const std::string& column) {
    out += (out.empty() ? "" : ", ") + form(column);
  };
  for (const char* column : kOwnColumns) add(column);
  for (const std::string& column : setting_columns<Sandbox>()) add(column);
  return out;
}

// Whether an index has the column.
bool is_key(std::string_view column) {
  return column == "tenant" || column == "name" || column == "created_at" || column == "claim";
}

}  // namespace

const std::string& columns() {
  static const std::string kNames = joined([](const std::string& column) { return column; });
  return kNames;
}

const std::string& placeholders() {
  static const std::string kMarks = joined([](const std::string&) { return std::string("?"); });
  return kMarks;
}

const std::string& assignments(Keys keys) {
  const auto written = [](bool with_keys) {
    std::string out;
    int position = 0;
    const auto add = [&](const std::string& column) {
      ++position;
      if (position == 1 || (!with_keys && is_key(column))) return;  // a row keeps its id
      out += (out.empty() ? "" : ", ") + column + "=?" + std::to_string(position);
    };
    for (const char* column : kOwnColumns) add(column);
    for (const std::string& column : setting_columns<Sandbox>()) add(column);
    return out;
  };
  static const std::string kAll = written(true), kNoKeys = written(false);
  return keys == Keys::kChange ? kAll : kNoKeys;
}

void bind_row(db::Statement& statement, const Sandbox& sandbox) {
  statement.bind(sandbox.id.get())
      .bind(sandbox.tenant.get())
      .bind(sandbox.name)
      .bind(std::string(to_string(sandbox.state)))
      .bind(sandbox.reason)
      .bind(sandbox.snapshot_name)
      .bind(sandbox.snapshot_id.get())
      .bind(encode(sandbox.labels))
      .bind(std::int64_t{sandbox.limits.cpu_millicores})
      .bind(stored(sandbox.limits.memory_bytes))
      .bind(stored(sandbox.limits.disk_bytes))
      .bind(std::int64_t{sandbox.limits.pids})
      .bind(sandbox.run.user)
      .bind(sandbox.run.workdir)
      .bind(encode(sandbox.run.env))
      .bind(sandbox.policy)
      .bind(sandbox.created_at)
      .bind(sandbox.updated_at)
      .bind(sandbox.last_active_at)
      .bind(sandbox.stopped_at)
      .bind(sandbox.created_by)
      .bind(sandbox.marks.created)
      .bind(sandbox.marks.active)
      .bind(sandbox.marks.stopped)
      .bind(std::string(to_string(sandbox.network.state)))
      .bind(sandbox.network.reason)
      .bind(encode_rules(sandbox.proxy))
      .bind(sandbox.rules)
      .bind(sandbox.runtime)
      .bind(sandbox.layer.get())
      .bind(sandbox.claim)
      .bind(encode(sandbox.notes));
  bind_settings(statement, sandbox);
}

Result<Sandbox> read_row(const db::Statement& row) {
  int column = 0;
  Sandbox out;
  out.id = SandboxId(row.text(column++));
  out.tenant = TenantId(row.text(column++));
  out.name = row.text(column++);
  const std::string state = row.text(column++);
  const auto known = sandbox_state_from(state);
  if (!known) return store_broken("the unknown state '" + state + "'");
  out.state = *known;
  out.reason = row.text(column++);
  out.snapshot_name = row.text(column++);
  out.snapshot_id = SnapshotId(row.text(column++));
  CAY_TRY(out.labels, decode(row.text(column++)));
  out.limits.cpu_millicores = static_cast<std::uint32_t>(row.number(column++));
  out.limits.memory_bytes = static_cast<std::uint64_t>(row.number(column++));
  out.limits.disk_bytes = static_cast<std::uint64_t>(row.number(column++));
  out.limits.pids = static_cast<std::uint32_t>(row.number(column++));
  out.run.user = text_or_null(row, column++);
  out.run.workdir = text_or_null(row, column++);
  CAY_TRY(out.run.env, decode(row.text(column++)));
  out.policy = row.text(column++);
  out.created_at = row.number(column++);
  out.updated_at = row.number(column++);
  out.last_active_at = row.number(column++);
  if (!row.is_null(column)) out.stopped_at = row.number(column);
  ++column;
  out.created_by = row.text(column++);
  out.marks.created = row.number(column++);
  out.marks.active = row.number(column++);
  if (!row.is_null(column)) out.marks.stopped = row.number(column);
  ++column;
  const std::string network = row.text(column++);
  const auto way_out = network_state_from(network);
  if (!way_out) return store_broken("the unknown network state '" + network + "'");
  out.network.state = *way_out;
  out.network.reason = row.text(column++);
  CAY_TRY(out.proxy, decode_rules(row.text(column++)));
  out.rules = row.text(column++);
  out.runtime = row.text(column++);
  out.layer = LayerId(row.text(column++));
  out.claim = row.text(column++);
  CAY_TRY(out.notes, decode(row.text(column++)));
  CAY_CHECK(read_settings(row, column, out));
  return out;
}

std::string encode(const std::map<std::string, std::string>& map) {
  if (map.empty()) return "{}";
  boost::json::object object;
  for (const auto& [key, value] : map) object.emplace(key, value);
  return boost::json::serialize(object);
}

Result<std::map<std::string, std::string>> decode(const std::string& json) {
  if (json == "{}") return std::map<std::string, std::string>();
  boost::json::parse_options options;
  options.allow_invalid_utf8 = true;  // an environment variable is bytes
  boost::json::error_code error;
  const auto value = boost::json::parse(json, error, {}, options);
  if (error || !value.is_object()) return store_broken("bad JSON");
  std::map<std::string, std::string> out;
  for (const auto& member : value.get_object()) {
    if (!member.value().is_string()) return store_broken("bad JSON");
    const auto& text = member.value().get_string();
    out.emplace(std::string(member.key()), std::string(text.data(), text.size()));
  }
  return out;
}

}  // namespace cay::store
