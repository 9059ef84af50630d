// PackageCheck: finds out whether sandboxes reach the servers of this host's package managers.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "async/task.h"
#include "package_sources.h"

namespace cay::app {

class PackageCheck {
 public:
  // Reads the host's settings, with the rights of the caller. `config` outlives it.
  PackageCheck(const NetworkConfig& config, std::shared_ptr<const policy::Catalogue> policies,
               std::function<bool(const IpAddress&)> is_own_address);

  // Resolves the servers' names and judges them. A name that takes too long counts as not found.
  Task<core::Feature> look() const;

 private:
  const NetworkConfig& config_;
  std::shared_ptr<const policy::Catalogue> policies_;
  std::function<bool(const IpAddress&)> is_own_address_;
  std::vector<PackageSource> sources_;
  bool own_authorities_;
};

}  // namespace cay::app
