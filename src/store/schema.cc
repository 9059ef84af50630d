#include "store/schema.h"

#include <array>

namespace cay::store {
namespace {

// Step i leads from version i to i + 1. Times are milliseconds since 1970, UTC. `labels`
// and `run_env` are JSON objects of strings. sandbox_label repeats the labels for searching.
// Tenant '' in snapshot: the host's, for all.
constexpr std::array<const char*, 21> kSteps = {
    R"sql(
CREATE TABLE sandbox (
  id                  TEXT PRIMARY KEY,
  tenant              TEXT NOT NULL,
  name                TEXT NOT NULL,
  state               TEXT NOT NULL,
  reason              TEXT NOT NULL,
  snapshot_name       TEXT NOT NULL,
  snapshot_id         TEXT NOT NULL,
  labels              TEXT NOT NULL,
  cpu_millicores      INTEGER NOT NULL,
  memory_bytes        INTEGER NOT NULL,
  disk_bytes          INTEGER NOT NULL,
  pids                INTEGER NOT NULL,
  run_user            TEXT,
  run_workdir         TEXT,
  run_env             TEXT NOT NULL,
  policy              TEXT NOT NULL,
  idle_ttl_s          INTEGER NOT NULL,
  delete_after_stop_s INTEGER NOT NULL,
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  last_active_at      INTEGER NOT NULL,
  stopped_at          INTEGER,
  created_by          TEXT NOT NULL,
  facade_data         TEXT NOT NULL,
  UNIQUE (tenant, name)
) STRICT;
CREATE INDEX sandbox_by_age ON sandbox (tenant, created_at, id);
CREATE TABLE sandbox_label (
  sandbox_id TEXT NOT NULL REFERENCES sandbox (id) ON DELETE CASCADE,
  tenant     TEXT NOT NULL,
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  PRIMARY KEY (sandbox_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshot (
  id          TEXT PRIMARY KEY,
  tenant      TEXT NOT NULL,
  name        TEXT NOT NULL,
  status      TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  used_bytes  INTEGER NOT NULL,
  created_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
)sql",
    // The journal: a tenant's events are numbered 1, 2, 3 … without holes; those up to
    // pruned_through are no longer kept. open_command: started, and not known to have ended.
    R"sql(
CREATE TABLE event_count (
  tenant         TEXT PRIMARY KEY,
  last_seq       INTEGER NOT NULL,
  pruned_through INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE event (
  tenant     TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  type       TEXT NOT NULL,
  sandbox_id TEXT NOT NULL,
  sandbox    TEXT NOT NULL,
  labels     TEXT NOT NULL,
  reason     TEXT NOT NULL,
  command_id TEXT NOT NULL,
  state      TEXT NOT NULL,
  ended_by   TEXT NOT NULL,
  exit_code  INTEGER,
  signal     INTEGER,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_of_command ON event (sandbox_id, command_id) WHERE command_id <> '';
CREATE TABLE open_command (
  sandbox_id TEXT NOT NULL,
  command_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  trace      TEXT NOT NULL,
  PRIMARY KEY (sandbox_id, command_id)
) STRICT, WITHOUT ROWID;
)sql",
    // The use of sandboxes. life_*: the kernel's counters at the last look, which begin at zero
    // with each start. looked_at 0: it does not run. usage_retired: sandboxes that are gone.
    R"sql(
CREATE TABLE usage (
  sandbox_id        TEXT PRIMARY KEY,
  tenant            TEXT NOT NULL,
  labels            TEXT NOT NULL,
  looked_at         INTEGER NOT NULL,
  life_cpu_usec     INTEGER NOT NULL,
  life_memory_bytes INTEGER NOT NULL,
  cpu_usec          INTEGER NOT NULL,
  memory_mib_ms     INTEGER NOT NULL,
  running_ms        INTEGER NOT NULL,
  bytes_in          INTEGER NOT NULL,
  bytes_out         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_retired (
  tenant        TEXT NOT NULL,
  labels        TEXT NOT NULL,
  sandboxes     INTEGER NOT NULL,
  cpu_usec      INTEGER NOT NULL,
  memory_mib_ms INTEGER NOT NULL,
  running_ms    INTEGER NOT NULL,
  bytes_in      INTEGER NOT NULL,
  bytes_out     INTEGER NOT NULL,
  PRIMARY KEY (tenant, labels)
) STRICT, WITHOUT ROWID;
  )sql",
    // Timers go by marks on a time of our own (core/timeline.h), which began as the wall clock's.
    R"sql(
ALTER TABLE sandbox ADD COLUMN lifetime_s INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandbox ADD COLUMN commands_keep_awake INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandbox ADD COLUMN created_mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandbox ADD COLUMN active_mark INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sandbox ADD COLUMN stopped_mark INTEGER;
UPDATE sandbox SET created_mark = created_at, active_mark = last_active_at,
  stopped_mark = stopped_at;
)sql",
    R"sql(
ALTER TABLE sandbox ADD COLUMN record_programs INTEGER NOT NULL DEFAULT 0;
)sql",
    // Rights to one service (port) or one file (port 0). secret_hash: SHA-256 in hex. The marks are
    // of the timeline.
    R"sql(
CREATE TABLE link (
  id           TEXT PRIMARY KEY,
  sandbox_id   TEXT NOT NULL REFERENCES sandbox (id) ON DELETE CASCADE,
  tenant       TEXT NOT NULL,
  port         INTEGER NOT NULL,
  path         TEXT NOT NULL,
  user         TEXT NOT NULL,
  workdir      TEXT NOT NULL,
  content_type TEXT NOT NULL,
  inline_shown INTEGER NOT NULL,
  lifetime_s   INTEGER,
  created_by   TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  expires_mark INTEGER,
  secret_hash  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX link_of_sandbox ON link (sandbox_id);
)sql",
    // The way out (network_*: as of the last start). Sandboxes from before could reach nothing,
    // whatever their policy was called: no upgrade gives them more. Their owners may (a policy can
    // be changed).
    R"sql(
ALTER TABLE sandbox ADD COLUMN network_state TEXT NOT NULL DEFAULT 'off';
ALTER TABLE sandbox ADD COLUMN network_reason TEXT NOT NULL DEFAULT '';
UPDATE sandbox SET policy = 'off';
)sql",
    // note_mark: the last note of a sandbox's keeper that is on record. pruned_at: no later event
    // was pruned. The times of earlier pruned events are not known, so the journal's rows count.
    R"sql(
CREATE TABLE note_mark (
  sandbox_id TEXT PRIMARY KEY,
  life       INTEGER NOT NULL,
  number     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE event_count ADD COLUMN pruned_at INTEGER NOT NULL DEFAULT 0;
UPDATE event_count SET pruned_at =
  coalesce((SELECT max(at) FROM event WHERE event.tenant = event_count.tenant), 0)
  WHERE pruned_through > 0;
)sql",
    // Secrets (hosts: a JSON array; sealed: hex, which the broker alone can open), and what
    // sandboxes may do with them.
    R"sql(
CREATE TABLE secret (
  tenant     TEXT NOT NULL,
  name       TEXT NOT NULL,
  hosts      TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  sealed     TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
ALTER TABLE sandbox ADD COLUMN proxy TEXT NOT NULL DEFAULT '[]';
)sql",
    // rules: of the policy of that name (policy/rule_set.h). Sandboxes from before have a policy
    // that needs none.
    R"sql(
ALTER TABLE sandbox ADD COLUMN rules TEXT NOT NULL DEFAULT '';
)sql",
    // bytes: of the texts of the tenant's events that are kept.
    R"sql(
ALTER TABLE event_count ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE event_count SET bytes = coalesce((SELECT sum(
  length(CAST(type AS BLOB)) + length(CAST(sandbox_id AS BLOB)) + length(CAST(sandbox AS BLOB)) +
  length(CAST(labels AS BLOB)) +
  length(CAST(reason AS BLOB)) + length(CAST(command_id AS BLOB)) + length(CAST(state AS BLOB)) +
  length(CAST(ended_by AS BLOB)))
  FROM event WHERE event.tenant = event_count.tenant), 0);
)sql",
    // Containment profile. Sandboxes from before had what is now called so.
    R"sql(
ALTER TABLE sandbox ADD COLUMN profile TEXT NOT NULL DEFAULT 'default';
)sql",
    // File systems in memory. Older sandboxes have none of their own.
    R"sql(
ALTER TABLE sandbox ADD COLUMN tmpfs TEXT NOT NULL DEFAULT '{}';
)sql",
    // The runtime of a snapshot, and of the sandboxes made from it. Older rows have the only one.
    R"sql(
ALTER TABLE sandbox ADD COLUMN runtime TEXT NOT NULL DEFAULT 'native';
ALTER TABLE snapshot ADD COLUMN runtime TEXT NOT NULL DEFAULT 'native';
)sql",
    // Snapshots of images and captures. Older ones are the host's, and are layers of their own id.
    // An empty layer of a sandbox means its snapshot's id. A config is a JSON object of the members
    // of ImageConfig. A chain names the content of a layer and of all below it.
    R"sql(
ALTER TABLE sandbox ADD COLUMN layer TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN layer TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN origin TEXT NOT NULL DEFAULT 'host';
ALTER TABLE snapshot ADD COLUMN image_name TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN status_message TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN source_sandbox TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN config TEXT NOT NULL DEFAULT '{}';
ALTER TABLE snapshot ADD COLUMN disk_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshot ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
UPDATE snapshot SET layer = id, updated_at = created_at;
CREATE TABLE snapshot_tag (
  tenant      TEXT NOT NULL,
  name        TEXT NOT NULL,
  tag         TEXT NOT NULL,
  snapshot_id TEXT NOT NULL REFERENCES snapshot (id) ON DELETE CASCADE,
  PRIMARY KEY (tenant, name, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_of_snapshot ON snapshot_tag (snapshot_id);
CREATE TABLE layer (
  id         TEXT PRIMARY KEY,
  below      TEXT NOT NULL,
  chain      TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE volume (
  id         TEXT PRIMARY KEY,
  tenant     TEXT NOT NULL,
  name       TEXT NOT NULL,
  disk_bytes INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (tenant, name)
) STRICT, WITHOUT ROWID;
)sql",
    // volumes: a JSON array of a sandbox's VolumeMount. used_at: when a build last used a layer.
    // registry: credentials for registries of images.
    R"sql(
ALTER TABLE sandbox ADD COLUMN volumes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE layer ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
CREATE TABLE registry (
  id         TEXT PRIMARY KEY,
  tenant     TEXT NOT NULL,
  name       TEXT NOT NULL,
  url        TEXT NOT NULL,
  username   TEXT NOT NULL,
  password   TEXT NOT NULL,
  created_by TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (tenant, name)
) STRICT, WITHOUT ROWID;
)sql",
    // registry: the id of the kept registry whose login the pull used.
    R"sql(
ALTER TABLE snapshot ADD COLUMN registry TEXT NOT NULL DEFAULT '';
)sql",
    // No facade wrote it.
    R"sql(
ALTER TABLE sandbox DROP COLUMN facade_data;
)sql",
    // claim: whoever gives it again gets the same sandbox. Empty: none.
    R"sql(
ALTER TABLE sandbox ADD COLUMN claim TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX sandbox_claim ON sandbox (tenant, claim) WHERE claim <> '';
)sql",
    // notes: a JSON object of texts that a facade keeps about a sandbox. No native client sees it.
    R"sql(
ALTER TABLE sandbox ADD COLUMN notes TEXT NOT NULL DEFAULT '{}';
)sql",
    // read_only_paths, hidden_paths: JSON lists of paths.
    R"sql(
ALTER TABLE sandbox ADD COLUMN read_only_paths TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sandbox ADD COLUMN hidden_paths TEXT NOT NULL DEFAULT '[]';
)sql",
};

const db::Migrations& history() {
  static const db::Migrations kHistory{kSteps, "state.db", kOldestSchema};
  return kHistory;
}

}  // namespace

int schema_version() { return history().newest(); }

Result<std::unique_ptr<db::Database>> open_database(const std::string& path) {
  return db::Database::open(
      path, {"the store (state.db)",
             "restore a backup into another data directory, or begin anew without these sandboxes: "
             "cay uninstall --purge --data DIR"});
}

Result<std::int64_t> check_version(db::Database& db) { return db::check_version(db, history()); }

Result<void> migrate(db::Database& db, int to) { return db::migrate(db, history(), to); }

}  // namespace cay::store
