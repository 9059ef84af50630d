// ImageRegistryStore: the part of the store that keeps registries of images with their passwords.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "model/image_registry.h"

namespace cay::core {

// A registry as it is kept. The password is in the clear, for pulls need it.
struct StoredImageRegistry {
  ImageRegistry info;
  std::string password{};
};

class ImageRegistryStore {
 public:
  virtual ~ImageRegistryStore() = default;

  // Replaces the row of this id. Fails kAlreadyExists (registry_exists) if the tenant has that
  // name.
  virtual Result<void> put(const StoredImageRegistry& registry) = 0;
  virtual Result<void> erase(const RegistryId& id) = 0;  // idempotent
  // Those of one tenant, by name.
  virtual Result<std::vector<StoredImageRegistry>> of(const TenantId& tenant) = 0;
};

}  // namespace cay::core
