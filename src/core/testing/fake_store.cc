#include "core/testing/fake_store.h"

#include <algorithm>

#include "base/ascii.h"

namespace cay::core::testing {
namespace {

bool matches(const Sandbox& sandbox, const SandboxQuery& query) {
  if (query.state && sandbox.state != *query.state) return false;
  if (!query.created_by.empty() && sandbox.created_by != query.created_by) return false;
  if (!query.claim.empty() && sandbox.claim != query.claim) return false;
  if (lowered(sandbox.name).find(lowered(query.name_contains)) == std::string::npos) return false;
  for (const auto& [key, value] : query.labels) {
    const auto found = sandbox.labels.find(key);
    if (found == sandbox.labels.end() || (value && found->second != *value)) return false;
  }
  return true;
}

// Negative, zero or positive; absent stopped_at sorts below every time, as NULL does in SQLite.
int compare(const Sandbox& a, const Sandbox& b, SandboxSort sort) {
  const auto three_way = [](const auto& x, const auto& y) { return x < y ? -1 : (y < x ? 1 : 0); };
  switch (sort) {
    case SandboxSort::kCreatedAt: return three_way(a.created_at, b.created_at);
    case SandboxSort::kName: return three_way(a.name, b.name);
    case SandboxSort::kState: return three_way(to_string(a.state), to_string(b.state));
    case SandboxSort::kStoppedAt: return three_way(a.stopped_at, b.stopped_at);
    case SandboxSort::kIdleTtl: return three_way(a.idle_ttl_s, b.idle_ttl_s);
    case SandboxSort::kDeleteAfterStop:
      return three_way(a.delete_after_stop_s, b.delete_after_stop_s);
  }
  return 0;
}

Error name_in_use(const std::string& name) {
  return {Code::kAlreadyExists, "name_in_use",
          "a sandbox named '" + name + "' exists: choose another name"};
}

}  // namespace

Result<void> FakeTables::writable() {
  if (!write_error) return {};
  if (writes_before_error > 0) {
    --writes_before_error;
    return {};
  }
  return *write_error;
}

Result<void> FakeTables::readable() const {
  if (read_error) return *read_error;
  return {};
}

Result<void> FakeStore::check_unique(const Sandbox& sandbox) const {
  for (const auto& [id, row] : rows) {
    if (id == sandbox.id || row.tenant != sandbox.tenant) continue;
    if (row.name == sandbox.name) return name_in_use(sandbox.name);
    if (!sandbox.claim.empty() && row.claim == sandbox.claim) {
      return Error{Code::kAlreadyExists, "claim_in_use",
                   "the claim '" + sandbox.claim + "' is held by another sandbox: try again", 0};
    }
  }
  return {};
}

Result<void> FakeStore::insert(const Sandbox& sandbox) {
  CAY_CHECK(writable());
  CAY_CHECK(check_unique(sandbox));
  rows[sandbox.id] = sandbox;
  tell(event_about(sandbox, "sandbox.created", sandbox.created_at));
  return {};
}

Result<void> FakeStore::update(const Sandbox& sandbox, const std::string& by) {
  CAY_CHECK(writable());
  if (!rows.contains(sandbox.id)) {
    return Error{Code::kNotFound, "sandbox_not_found", "no sandbox " + sandbox.id.get()};
  }
  CAY_CHECK(check_unique(sandbox));
  const std::string type = event_of(rows.at(sandbox.id), sandbox);
  rows[sandbox.id] = sandbox;
  if (!type.empty()) tell(event_about(sandbox, type, sandbox.updated_at, by));
  return {};
}

Result<void> FakeStore::erase(const SandboxId& id, const std::string& by) {
  CAY_CHECK(writable());
  const auto found = rows.extract(id);
  std::erase_if(link_rows, [&id](const auto& row) { return row.second.sandbox == id; });
  if (found) tell(event_about(found.mapped(), "sandbox.deleted", found.mapped().updated_at, by));
  return {};
}

Result<std::optional<Sandbox>> FakeStore::by_id(const TenantId& tenant, const SandboxId& id) {
  CAY_CHECK(readable());
  const auto found = rows.find(id);
  if (found == rows.end() || found->second.tenant != tenant) return std::optional<Sandbox>();
  return std::optional<Sandbox>(found->second);
}

Result<std::optional<Sandbox>> FakeStore::by_name(const TenantId& tenant, const std::string& name) {
  CAY_CHECK(readable());
  for (const auto& [id, row] : rows) {
    if (row.tenant == tenant && row.name == name) return std::optional<Sandbox>(row);
  }
  return std::optional<Sandbox>();
}

Result<SandboxPage> FakeStore::list(const TenantId& tenant, const SandboxQuery& query) {
  CAY_CHECK(readable());
  std::vector<Sandbox> found;
  for (const auto& [id, row] : rows) {
    if (row.tenant == tenant && matches(row, query)) found.push_back(row);
  }
  std::sort(found.begin(), found.end(), [&](const Sandbox& a, const Sandbox& b) {
    int order = compare(a, b, query.sort);
    if (order == 0) order = a.id < b.id ? -1 : 1;
    return query.descending ? order > 0 : order < 0;
  });
  SandboxPage page;
  const std::size_t begin = std::min<std::size_t>(query.offset, found.size());
  const std::size_t length = query.limit == 0
                                 ? found.size() - begin
                                 : std::min<std::size_t>(query.limit, found.size() - begin);
  page.more = begin + length < found.size();
  for (std::size_t i = begin; i < begin + length; ++i) page.items.push_back(std::move(found[i]));
  return page;
}

Result<std::vector<Sandbox>> FakeStore::all() {
  CAY_CHECK(readable());
  std::vector<Sandbox> out;
  for (const auto& [id, row] : rows) out.push_back(row);
  return out;
}

Result<void> FakeSnapshotStore::put(const SnapshotInfo& snapshot) {
  CAY_CHECK(tables_.writable());
  SnapshotInfo& row = tables_.snapshot_rows[snapshot.id];
  row = snapshot;
  row.tags.clear();
  row.own_bytes = 0;
  return {};
}

Result<void> FakeSnapshotStore::put_tagged(const SnapshotInfo& snapshot, const std::string& tag) {
  CAY_CHECK(put(snapshot));
  tables_.tag_rows[{snapshot.tenant, snapshot.name, tag}] = snapshot.id;
  return {};
}

Result<void> FakeSnapshotStore::erase(const SnapshotId& id) {
  CAY_CHECK(tables_.writable());
  tables_.snapshot_rows.erase(id);
  std::erase_if(tables_.tag_rows, [&](const auto& row) { return row.second == id; });
  return {};
}

Result<std::vector<SnapshotInfo>> FakeSnapshotStore::all() {
  CAY_CHECK(tables_.readable());
  std::vector<SnapshotInfo> out;
  for (const auto& [id, snapshot] : tables_.snapshot_rows) {
    out.push_back(snapshot);
    for (const auto& [tag, of] : tables_.tag_rows) {
      if (of == id) out.back().tags.push_back(tag.tag);
    }
  }
  std::ranges::sort(out, [](const SnapshotInfo& a, const SnapshotInfo& b) {
    return std::pair(a.created_at, a.id) < std::pair(b.created_at, b.id);
  });
  return out;
}

Result<void> FakeSnapshotStore::put_layer(const LayerRow& layer) {
  CAY_CHECK(tables_.writable());
  tables_.layer_rows[layer.id] = layer;
  return {};
}

Result<void> FakeSnapshotStore::erase_layer(const LayerId& id) {
  CAY_CHECK(tables_.writable());
  tables_.layer_rows.erase(id);
  return {};
}

Result<std::vector<LayerRow>> FakeSnapshotStore::layers() {
  CAY_CHECK(tables_.readable());
  std::vector<LayerRow> out;
  for (const auto& [id, layer] : tables_.layer_rows) out.push_back(layer);
  return out;
}

Result<void> FakeVolumeStore::put(const Volume& volume) {
  CAY_CHECK(tables_.writable());
  for (const auto& [id, row] : tables_.volume_rows) {
    if (id != volume.id && row.tenant == volume.tenant && row.name == volume.name)
      return Error{Code::kAlreadyExists, "volume_exists",
                   "a volume named '" + volume.name + "' exists: choose another name", 0};
  }
  tables_.volume_rows[volume.id] = volume;
  return {};
}

Result<void> FakeVolumeStore::erase(const VolumeId& id) {
  CAY_CHECK(tables_.writable());
  tables_.volume_rows.erase(id);
  return {};
}

Result<std::vector<Volume>> FakeVolumeStore::all() {
  CAY_CHECK(tables_.readable());
  std::vector<Volume> out;
  for (const auto& [id, volume] : tables_.volume_rows) out.push_back(volume);
  return out;
}

Result<void> FakeImageRegistryStore::put(const StoredImageRegistry& registry) {
  CAY_CHECK(tables_.writable());
  for (const auto& [id, row] : tables_.registry_rows) {
    if (id != registry.info.id && row.info.tenant == registry.info.tenant &&
        row.info.name == registry.info.name) {
      return Error{Code::kAlreadyExists, "registry_exists",
                   "a registry named '" + registry.info.name + "' exists: choose another name", 0};
    }
  }
  tables_.registry_rows[registry.info.id] = registry;
  return {};
}

Result<void> FakeImageRegistryStore::erase(const RegistryId& id) {
  CAY_CHECK(tables_.writable());
  tables_.registry_rows.erase(id);
  return {};
}

Result<std::vector<StoredImageRegistry>> FakeImageRegistryStore::of(const TenantId& tenant) {
  CAY_CHECK(tables_.readable());
  std::vector<StoredImageRegistry> out;
  for (const auto& [id, row] : tables_.registry_rows) {
    if (row.info.tenant == tenant) out.push_back(row);
  }
  std::ranges::sort(out, {}, [](const StoredImageRegistry& row) { return row.info.name; });
  return out;
}

Result<void> FakeLinkStore::put_link(const Link& link) {
  CAY_CHECK(writable());
  if (!rows.contains(link.sandbox))
    return Error{Code::kNotFound, "sandbox_not_found", "no sandbox " + link.sandbox.get(), 0};
  link_rows[link.id] = link;
  return {};
}

Result<void> FakeLinkStore::erase_links(const std::vector<LinkId>& ids) {
  CAY_CHECK(writable());
  for (const auto& id : ids) link_rows.erase(id);
  return {};
}

Result<std::vector<Link>> FakeLinkStore::links() {
  CAY_CHECK(readable());
  std::vector<Link> out;
  for (const auto& [id, link] : link_rows) out.push_back(link);
  return out;
}

Result<void> FakeSecretStore::put_secret(const StoredSecret& secret) {
  CAY_CHECK(writable());
  secret_rows[{secret.info.tenant, secret.info.name}] = secret;
  return {};
}

Result<void> FakeSecretStore::erase_secret(const TenantId& tenant, const std::string& name) {
  CAY_CHECK(writable());
  secret_rows.erase({tenant, name});
  return {};
}

Result<std::vector<StoredSecret>> FakeSecretStore::secrets() {
  CAY_CHECK(readable());
  std::vector<StoredSecret> out;
  for (const auto& [key, row] : secret_rows) out.push_back(row);
  return out;
}

Result<std::optional<std::string>> FakeStore::get_meta(const std::string& key) {
  CAY_CHECK(readable());
  const auto found = meta.find(key);
  if (found == meta.end()) return std::optional<std::string>();
  return std::optional<std::string>(found->second);
}

Result<void> FakeStore::put_meta(const std::string& key, const std::string& value) {
  CAY_CHECK(writable());
  meta[key] = value;
  return {};
}

}  // namespace cay::core::testing
