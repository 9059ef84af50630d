// ImageRegistryVerbs: core::ImageRegistries over the store. Rows are read for each call, so that
// passwords stay in the store.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/registry.h"
#include "core/verbs/image_registries.h"
#include "model/snapshot_request.h"

namespace cay::core {

class ImageRegistryVerbs : public ImageRegistries {
 public:
  explicit ImageRegistryVerbs(std::shared_ptr<Registry> registry)
      : registry_(std::move(registry)) {}

  Task<ImageRegistry> create(Principal who, NewImageRegistry made) override;
  Task<std::vector<ImageRegistry>> list(Principal who) override;
  Task<ImageRegistry> get(Principal who, std::string ref) override;
  Task<ImageRegistry> update(Principal who, std::string ref, ImageRegistryChange change) override;
  Task<void> remove(Principal who, std::string ref) override;

  // Fills login and id of a source that names a registry, and completes a reference that names
  // none.
  // Fails kNotFound (registry_not_found), kInvalidArgument (registry_mismatch): the reference names
  // another registry, which gets no password.
  Result<ImageSource> with_login(const TenantId& tenant, ImageSource source) const;
  // Returns the login that the tenant keeps for a host, as ImageReference::registry names it.
  Result<std::optional<RegistryLogin>> login_at(const TenantId& tenant,
                                                const std::string& host) const;

 private:
  Result<StoredImageRegistry> find(const TenantId& tenant, const std::string& ref) const;
  ImageRegistryStore& kept() const { return registry_->store().image_registries(); }

  static constexpr std::size_t kMost = 1000;  // of a tenant
  std::shared_ptr<Registry> registry_;
};

}  // namespace cay::core
