// SqliteSandboxes: the rows of sandboxes and their labels. A change is committed with its event.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "store/sqlite_secrets.h"

namespace cay::store {

class SqliteSandboxes : public SqliteSecrets {
 public:
  using SqliteSecrets::SqliteSecrets;

  Result<void> insert(const Sandbox& sandbox) override;
  Result<void> update(const Sandbox& sandbox, const std::string& by) override;
  Result<void> erase(const SandboxId& id, const std::string& by) override;
  Result<std::optional<Sandbox>> by_id(const TenantId& tenant, const SandboxId& id) override;
  Result<std::optional<Sandbox>> by_name(const TenantId& tenant, const std::string& name) override;
  Result<SandboxPage> list(const TenantId& tenant, const SandboxQuery& query) override;
  Result<std::vector<Sandbox>> all() override;

 private:
  // The state of a row before the update to `next`, and whether its labels and keys stay.
  struct Before {
    SandboxState state;
    bool same_labels, same_keys;
  };
  Result<std::optional<Before>> before(const Sandbox& next);
  // Returns the type of the event; empty: there is none.
  Result<std::string> event_type(const Before& was, const Sandbox& next);
  Result<void> put_labels(const Sandbox& sandbox);
  Result<std::optional<Sandbox>> one(const char* where, std::initializer_list<std::string> values);
  static Result<std::vector<Sandbox>> read_all(db::Statement& rows);
};

}  // namespace cay::store
