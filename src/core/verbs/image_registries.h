// ImageRegistries: named credentials of a tenant for registries of images. Nothing returns a
// password.
#pragma once
#include <string>
#include <vector>

#include "async/task.h"
#include "model/image_registry.h"
#include "model/principal.h"

namespace cay::core {

// `ref` is a name or an id.
class ImageRegistries {
 public:
  virtual ~ImageRegistries() = default;
  // Fails kAlreadyExists (registry_exists), kExhausted (too_many_registries), kInvalidArgument
  // (invalid_name, invalid_registry_url, invalid_registry_login).
  virtual Task<ImageRegistry> create(Principal who, NewImageRegistry made) = 0;
  virtual Task<std::vector<ImageRegistry>> list(Principal who) = 0;
  // Fails kNotFound (registry_not_found).
  virtual Task<ImageRegistry> get(Principal who, std::string ref) = 0;
  // A change of the URL to another host needs the password, too: the old one goes nowhere else.
  // Fails as create() and get().
  virtual Task<ImageRegistry> update(Principal who, std::string ref,
                                     ImageRegistryChange change) = 0;
  virtual Task<void> remove(Principal who, std::string ref) = 0;
};

}  // namespace cay::core
