// DiskWalk: compares the entries of a sealed disk with the files below them. A builder sees both.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/channel.h"
#include "core/ports/live_sandbox.h"
#include "model/disk_change.h"

namespace cay::core {

class DiskWalk {
 public:
  // `live`: a builder on the layers below, with the disk's own layer at `place`.
  DiskWalk(std::shared_ptr<LiveSandbox> live, std::string place, Channel<DiskChange>& out)
      : live_(std::move(live)), place_(std::move(place)), out_(out) {}

  // Pushes all changes. A closed channel ends it without an error.
  Task<void> run();

 private:
  // A directory of the disk that the walk is in.
  struct Level {
    std::string path;                         // relative, "" for the root
    std::map<std::string, FileInfo> below{};  // what the layers below have in it, still unseen
    bool is_opaque = false;                   // and none of that is there any more
  };

  Task<void> take(LayerEntry entry);
  Task<void> take_directory(const LayerEntry& entry, std::optional<FileInfo> before);
  Task<void> take_file(const LayerEntry& entry, std::optional<FileInfo> before);
  Task<void> leave_for(const std::string& parent);
  Task<void> leave();
  Task<bool> is_same(const FileInfo& before, const FileInfo& after);
  Task<bool> has_same_content(std::string a, std::string b);
  std::optional<FileInfo> take_below(const std::string& path);
  Task<void> push(ChangeKind kind, std::optional<FileInfo> before, std::optional<FileInfo> after);

  std::shared_ptr<LiveSandbox> live_;
  const std::string place_;
  Channel<DiskChange>& out_;
  std::vector<Level> levels_;
};

}  // namespace cay::core
