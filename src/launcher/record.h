// Record: the facts about a sandbox that the launcher needs after a crash of its own,
// DATA/sandboxes/ID/record (wire/tlv.h). The directory is made before anything else of the sandbox.
// A directory without a record is a creation that was never confirmed, and everything of that id is
// removed. All names on the host (cgroups, disk, spool, socket) follow from the id and the instance
// alone.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cay::launcher {

struct Record {
  bool alive = false;  // confirmed and not ended since
  std::int64_t keeper_pid = 0;
  std::uint64_t start_time = 0;  // of the keeper, clock ticks since boot
  std::string boot_id;           // a pid of another boot means nothing
  std::uint32_t slot = 0;
  std::string snapshot_id;
  std::string disk_enforced_by;
  // The program record's objects, while it lives (launcher/program_recorder.h).
  std::uint64_t program_group = 0;
  std::uint32_t program_rings = 0, program_states = 0;
  std::string policy;       // that it was started with
  std::string no_network;   // why it has no way out all the same
  std::string profile;      // empty: of before there were any, "default"
  bool on_nothing = false;  // it stands on no layer at all. Else no snapshot_id: it is not known
  std::vector<std::string> mounted_layers, mounted_volumes;  // while it lives
  template <class V>
  void fields(V& v) {
    v(1, alive);
    v(2, keeper_pid);
    v(3, start_time);
    v(4, boot_id);
    v(5, slot);
    v(6, snapshot_id);
    v(7, disk_enforced_by);
    v(8, program_group);
    v(9, program_rings);
    v(10, program_states);
    v(11, policy);
    v(12, no_network);
    v(13, profile);
    v(14, on_nothing);
    v(15, mounted_layers);
    v(16, mounted_volumes);
  }
};

// Returns nullopt if there is none, and an error if there is one that cannot be read. A host that
// lost power may leave an empty one of a record that was written shortly before.
Result<std::optional<Record>> read_record(int sandboxes_dir, const std::string& id);
Result<void> write_record(int sandboxes_dir, const std::string& id, const Record& record);
// Removes the record: the rest is then a creation that was never confirmed. No record is success.
Result<void> forget_record(int sandboxes_dir, const std::string& id);

}  // namespace cay::launcher
