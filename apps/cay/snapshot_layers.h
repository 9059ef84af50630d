// These functions list the layers in a data directory (DATA/layers) that sandboxes boot from, and
// link layers into another data directory.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/backup.h"

namespace cay::app {

// Returns the layer and those below it, the nearest first. `data`: the open data directory; what is
// not there is an id all the same.
std::vector<std::string> stack_in(int data, const std::string& layer);
// Returns the ids of what these boot from, and of what lies below.
std::set<std::string> layers_of(int data, const std::vector<store::StoredSandbox>& sandboxes);

// Links LAYERS/ID of one data directory into another's. Directories are copied as they are (owner,
// mode, times, extended attributes), and all else becomes hard links, so that both directories go
// on for themselves. A layer that `from` lacks is left out. Fails kUnsupported (other_file_system)
// where no links can be made.
Result<void> link_layer(int from, int to, const std::string& id);

}  // namespace cay::app
