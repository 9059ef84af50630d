// LayerReaders: the layers of a snapshot as sources, each opened when its first entry is needed.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ports/runtime.h"

namespace cay::core {

// The mounts by which a builder has the layers of `stack`, which begins with the lowest.
std::vector<DiskMount> mounts_of(const std::vector<LayerId>& stack);
// Reads them from such a builder, one after the other.
std::vector<std::unique_ptr<LayerSource>> readers_of(const std::shared_ptr<LiveSandbox>& live,
                                                     std::size_t layers);

}  // namespace cay::core
