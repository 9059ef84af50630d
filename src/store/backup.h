// Copies of the store for backups, and what a restored copy needs. Neither needs a running daemon.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace cay::store {

struct StoredSandbox {
  std::string id, name, state;
  std::string layer;             // the top one of those that it stands on
  std::int64_t stopped_at = -1;  // -1: it runs, or has never run
};

struct StoredVolume {
  std::string id, name;
  std::uint64_t disk_bytes = 0;
};

// How far the numbers of events jump at a restore: none of those that were given after the backup
// is given again.
constexpr std::int64_t kRestoredEventStep = 1'000'000'000;

struct RestoreFacts {
  UnixMillis now = 0;
  UnixMillis taken_at = 0;      // of the backup
  std::set<std::string> disks;  // the sandboxes whose disks are there
};

// Every sandbox in it. Fails kUnsupported (store_too_new) on a schema that this program does not
// know.
Result<std::vector<StoredSandbox>> sandboxes_in(const std::string& database);

// The layers of images and captures, each after the one that it stands on. Empty in a database of
// before there were any.
Result<std::vector<std::string>> layers_in(const std::string& database);
Result<std::vector<StoredVolume>> volumes_in(const std::string& database);

// Brings a restored copy's schema forward and marks as stopped what ran when it was taken.
// Sandboxes without a disk are removed; their names come back. Timers count from now on: the time
// since the backup ends nobody's stay. Events get numbers that were never given.
Result<std::vector<std::string>> settle_restored(const std::string& database,
                                                 const RestoreFacts& facts);

}  // namespace cay::store
