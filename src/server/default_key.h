// The operator's own key (CAY_API_KEY, or DATA/api-key) has no line in DATA/keys: here is kept
// since when it is the one that it is.
#pragma once
#include "core/ports/store.h"
#include "server/key_ring.h"

namespace cay::server {

// For KeyRecord::since. Kept in the store, beside the links: another hash than last time is another
// key, from `now` on. 0: it is the first that was ever seen, and links of before are taken for its
// own.
Result<UnixMillis> default_key_since(core::Store& store, const KeyHash& hash, UnixMillis now);

}  // namespace cay::server
