// VolumeVerbs: core::Volumes over the store and the first runtime.
//
// A volume's directory is made before its row and removed after it. A daemon that ends in between
// leaves a directory without a row, and open() of the next one removes it.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/jobs.h"
#include "core/registry.h"
#include "core/runtimes.h"
#include "core/settings.h"
#include "core/verbs/volumes.h"

namespace cay::core {

class VolumeVerbs : public Volumes {
 public:
  VolumeVerbs(std::shared_ptr<Registry> registry, const Runtimes& runtimes, Jobs& jobs,
              const Defaults& defaults)
      : registry_(std::move(registry)), runtimes_(runtimes), jobs_(jobs), defaults_(defaults) {}

  // At start, once the sandboxes are known. Removes directories without a row, and warns of rows
  // without a directory.
  Task<void> open();

  Task<VolumeInfo> create(Principal who, NewVolume made) override;
  Task<std::vector<VolumeInfo>> list(Principal who) override;
  Task<VolumeInfo> get(Principal who, std::string ref) override;
  Task<VolumeInfo> resize(Principal who, std::string ref, std::uint64_t disk_bytes) override;
  Task<void> remove(Principal who, std::string ref) override;

 private:
  using Used = std::vector<std::pair<VolumeId, std::uint64_t>>;
  Result<VolumeDisks*> disks() const;  // kUnsupported (no_volumes)
  Result<std::uint64_t> checked_size(std::uint64_t disk_bytes) const;
  Task<Used> used() const;
  VolumeInfo info_of(Volume volume, const Used& used) const;
  std::vector<std::shared_ptr<Entry>> users_of(const Volume& volume) const;
  Task<void> create_job(Volume volume);
  Task<void> resize_job(Volume volume);
  Task<void> remove_job(Volume volume);

  std::shared_ptr<Registry> registry_;
  const Runtimes& runtimes_;
  Jobs& jobs_;
  const Defaults& defaults_;
};

}  // namespace cay::core
