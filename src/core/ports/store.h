// The store port: rows that survive the daemon. Implemented by src/store (SQLite, WAL). Calls are
// short and run on the daemon's loop (docs/decisions): no file is ever walked here.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/ports/image_registry_store.h"
#include "core/ports/journal.h"
#include "core/ports/link_store.h"
#include "core/ports/secret_store.h"
#include "core/ports/snapshot_store.h"
#include "core/ports/usage_store.h"
#include "model/sandbox.h"

namespace cay::core {

// insert, update and erase write the events of what they change (model/event.h).
class Store : public Journal, public UsageStore, public LinkStore, public SecretStore {
 public:
  // Fails kAlreadyExists (reason name_in_use, claim_in_use) if the tenant has that name or claim.
  virtual Result<void> insert(const Sandbox& sandbox) = 0;
  // Replaces the row with this id. Fails kNotFound, and as insert() does. `by` is the name
  // of the key that requested it, for the event. Empty: nobody did, or the event does not name it.
  virtual Result<void> update(const Sandbox& sandbox, const std::string& by) = 0;
  virtual Result<void> erase(const SandboxId& id, const std::string& by) = 0;  // idempotent
  Result<void> update(const Sandbox& sandbox) { return update(sandbox, {}); }
  Result<void> erase(const SandboxId& id) { return erase(id, {}); }
  virtual Result<std::optional<Sandbox>> by_id(const TenantId& tenant, const SandboxId& id) = 0;
  virtual Result<std::optional<Sandbox>> by_name(const TenantId& tenant,
                                                 const std::string& name) = 0;
  virtual Result<SandboxPage> list(const TenantId& tenant, const SandboxQuery& query) = 0;
  virtual Result<std::vector<Sandbox>> all() = 0;  // every tenant, at start

  virtual SnapshotStore& snapshots() = 0;
  virtual VolumeStore& volumes() = 0;
  virtual ImageRegistryStore& image_registries() = 0;

  // Small facts: instance id, schema notes.
  virtual Result<std::optional<std::string>> get_meta(const std::string& key) = 0;
  virtual Result<void> put_meta(const std::string& key, const std::string& value) = 0;

  // Writes something, to know whether that works.
  virtual Result<void> check() = 0;
  // Calls that failed for the store's own sake (not for a name in use and the like), ever.
  virtual std::uint64_t failures() const = 0;
};

}  // namespace cay::core
