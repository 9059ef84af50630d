// Layers: the sealed trees that sandboxes of one runtime stand on. A runtime that has them gives
// this role out (Runtime::layers()).
//
// A layer is the sealed upper of a sandbox: what that sandbox changed. To make one, boot a sandbox
// on the layers below, change its files, and seal it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "async/task.h"
#include "model/file.h"
#include "model/snapshot.h"

namespace cay::core {

struct Layer {
  LayerId id;
  std::vector<LayerId> below{};  // the nearest first
  std::uint64_t bytes = 0;       // on the disk, its own
};

class Layers {
 public:
  virtual ~Layers() = default;

  // Seals the disk of a sandbox as it is at this moment, as a new layer above those that it stands
  // on. The sandbox goes on. A caller pauses it first where no write may be cut in two.
  // kUnsupported (no_layers): this host's disks cannot be sealed. kAlreadyExists (layer_exists).
  // A failure, or the end of any process, leaves either the whole layer or none.
  virtual Task<Layer> seal(SandboxId from, LayerId as) = 0;
  // Idempotent. kConflict (layer_in_use): a sandbox or another layer stands on it.
  virtual Task<void> remove(LayerId id) = 0;
  // All that are whole.
  virtual Task<std::vector<Layer>> list() = 0;
};

// The kind of a layer's entry. kGone and kOpaque concern the layers below.
enum class EntryKind : std::uint8_t {
  kFile = 1,
  kDirectory = 2,
  kSymlink = 3,
  kHardLink = 4,  // to `target`, an earlier path of the same layer
  kFifo = 5,
  kGone = 6,    // the path is not there any more
  kOpaque = 7,  // the directory contains nothing of the layers below
};

// One entry of a layer; a kFile entry is followed by exactly `size` bytes.
struct LayerEntry {
  std::string path;  // relative to the root of the file system; without "." and ".."
  EntryKind kind = EntryKind::kFile;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  // 07777
  std::uint32_t uid = 0, gid = 0;
  std::int64_t mtime_ns = 0;
  std::string target{};                         // of a symlink or a hard link
  std::map<std::string, std::string> xattrs{};  // "security.capability", "user.…"
};
using LayerEvent = std::variant<LayerEntry, Bytes>;
class LayerSource {
 public:
  virtual ~LayerSource() = default;
  virtual Task<std::optional<LayerEvent>> next() = 0;  // nullopt: the end
};

}  // namespace cay::core
