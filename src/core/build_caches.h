// BuildCaches: the directories of RUN --mount=type=cache, which are kept between builds. Each is a
// volume of its tenant, whose name no user can give. One build at a time has it.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "async/mutex.h"
#include "core/registry.h"

namespace cay::core {

class BuildCaches {
 public:
  BuildCaches(std::shared_ptr<Registry> registry, const Runtimes& runtimes)
      : registry_(std::move(registry)), runtimes_(runtimes) {}

  struct Held {
    VolumeId volume;
    Mutex::Guard turn;
  };
  // Returns the cache of that id, which is made if there is none. It waits for other builds. Fails
  // kUnsupported (no_volumes).
  Task<Held> take(TenantId tenant, std::string id);

 private:
  Result<Volume> row_of(const TenantId& tenant, const std::string& id);

  std::shared_ptr<Registry> registry_;
  const Runtimes& runtimes_;
  std::map<VolumeId, Mutex> turns_;
};

}  // namespace cay::core
