// Layers: the trees that sandboxes stand on. DATA/layers/ID/layers lists the ids of the layers
// below, the nearest first, one a line. The default snapshot's tree is DATA/layers/ID/root. Any
// other layer is the sealed disk of a sandbox: the read-only snapshot layer-ID in the store. The
// directory DATA/layers/ID appears last, and only then does the layer count.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/host.h"
#include "wire/messages.h"

namespace cay::launcher {

// Begins the name of a layer that is being sealed.
inline constexpr const char* kSealingLayer = ".sealing-";

// Returns the id itself and then those below it, the nearest first. kNotFound (snapshot_not_found).
Result<std::vector<std::string>> stack_of(const Host& host, const std::string& id);

// Returns the nearest of them that is a sealed disk. Empty: none is.
std::string nearest_sealed(const Host& host, const std::vector<std::string>& stack);

// Returns a detached read-only mount of the layer's own tree.
Result<UniqueFd> mount_layer(const Host& host, const std::string& id);

// Seals the disk of sandbox `from`, which stands on `stack`, as layer `id`. Takes long. When it
// fails or is killed, the layer is not there, and remove_leftovers() takes off the rest.
Result<wire::LayerMsg> seal_layer(const Host& host, const std::string& from,
                                  const std::vector<std::string>& stack, const std::string& id);

// All sealed disks.
Result<std::vector<wire::LayerMsg>> list_layers(const Host& host);

// Counts the layers that stand on it.
std::size_t layers_above(const Host& host, const std::string& id);

// Removes what is in the store of a layer that is not there any more.
Result<void> remove_sealed(const Host& host, const std::string& id);

// At start, when nothing is being made: removes what was begun and not finished.
void remove_leftovers(const Host& host);

}  // namespace cay::launcher
