// The operator's own key (CAY_API_KEY, or DATA/api-key) has no line in DATA/keys: here is kept
// since when it is the one that it is.
#pragma once
#include "core/ports/store.h"
#include "server/key_ring.h"

namespace cay::server {

// Returns KeyRecord::since for the default key. The store keeps the hash and the time. Another hash
// than last time is another key, which counts from `now` on. Returns 0 for the first hash that was
// ever seen, so that earlier links are its own.
Result<UnixMillis> default_key_since(core::Store& store, const KeyHash& hash, UnixMillis now);

}  // namespace cay::server
