// SecretStore is the port by which the core stores secrets. Their values are sealed, and the store
// cannot open them.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/proxy.h"

namespace cay::core {

class SecretStore {
 public:
  virtual ~SecretStore() = default;

  // A new one, or another value, version and hosts of one that is there.
  virtual Result<void> put_secret(const StoredSecret& secret) = 0;
  virtual Result<void> erase_secret(const TenantId& tenant,
                                    const std::string& name) = 0;  // idempotent
  virtual Result<std::vector<StoredSecret>> secrets() = 0;         // every tenant's, by name
};

}  // namespace cay::core
