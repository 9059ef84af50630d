// CopiedLayer: the entries of a COPY, as they are to be in the layer: with new paths, owners and
// modes.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/ports/live_sandbox.h"

namespace cay::core {

struct FileOwner {
  std::uint32_t uid = 0, gid = 0;
};

// The change of each entry that is copied.
struct CopyChange {
  std::optional<FileOwner> owner{};     // empty: its own
  std::optional<std::uint32_t> mode{};  // of files and directories; empty: its own
};

// A file, or what is in a directory, that is copied from a live sandbox.
struct ReadPart {
  std::shared_ptr<LiveSandbox> from;
  std::string path;  // in that sandbox, absolute
  std::string to;    // in the layer, relative
  CopyChange change{};
};
// An entry that is made.
struct MadePart {
  LayerEntry entry;
  Bytes content{};
};
// An archive that is unpacked.
struct UnpackedPart {
  std::shared_ptr<LayerSource> entries;
  std::string to;
  CopyChange change{};
};
using CopyPart = std::variant<MadePart, ReadPart, UnpackedPart>;

// A directory that is a link to a directory in `to` stays that link, and gets the files. Null: none
// is looked for.
std::unique_ptr<LayerSource> copied_layer(std::vector<CopyPart> parts,
                                          std::shared_ptr<LiveSandbox> to = nullptr);

// Returns the entry of a directory that is made.
MadePart made_directory(std::string path, FileOwner owner, std::int64_t mtime_ns);

}  // namespace cay::core
