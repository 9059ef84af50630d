// Checks of a layer's entries before anything is done by them, and the errors about entries.
#pragma once
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "wire/messages.h"

namespace cay::keeper {

// Fails bad_layer for an entry that no layer may have. Removes attributes that mean nothing inside.
Result<void> check_layer_entry(wire::LayerEntryMsg& entry);

// Returns the error of a system call for the entry at `path`. It is the layer's fault, unless
// something ran out.
Error layer_failure(const std::string& path, int err);

}  // namespace cay::keeper
