// open_store: the store port on SQLite (DATA/state.db, WAL). Its rows survive the process. After a
// power cut the last second may be missing, and the file is whole (power_cut.h).
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "core/ports/store.h"

namespace cay::store {

// An ordinary event has some 200 bytes of text.
inline constexpr std::uint64_t kEventBytes = 640;

// Takes DATA/lock, opens or makes DATA/state.db (mode 0600) and brings its schema forward. The
// directory exists. Fails kUnavailable (data_dir_locked, store_failed), kUnsupported
// (store_too_new).
struct StoreOptions {
  std::uint64_t keep_events = 100'000;  // of each tenant, if they have no more text together than:
  std::uint64_t keep_event_bytes =
      64u << 20;  // or kEventBytes for each of keep_events, if that is more
  std::string boot_id = system_clock().boot_id();
};
Result<std::unique_ptr<core::Store>> open_store(const std::string& data_dir,
                                                StoreOptions options = {});

}  // namespace cay::store
