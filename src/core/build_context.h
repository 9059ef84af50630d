// BuildContext: the files of a build's context, as their names in it lead to them. It has a digest
// of each, so that no content is read a second time.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ports/layers.h"
#include "dockerfile/ignore.h"

namespace cay::core {

class BuildContext {
 public:
  // Takes the next entry of the context. Fails kInvalidArgument (bad_context): there are more than
  // 200,000, or their names have more than 64 MiB, or it is the mark of an image's layer.
  Result<void> add(const LayerEntry& entry, std::string digest);

  // A file or directory that a COPY names.
  struct Found {
    std::string path;    // relative to the context's root, through no link; empty: the root
    std::string name{};  // the last part of what was named
    bool is_directory = false;
  };
  // Returns what a path with wildcards names. Links in it are followed within the context. Fails
  // kInvalidArgument (build_failed) if a path without wildcards names nothing.
  Result<std::vector<Found>> find(const std::string& pattern) const;

  // Returns a digest of names, modes and content of what these paths name.
  Result<std::string> digest(const std::vector<std::string>& paths) const;

  bool empty() const { return files_.empty(); }

 private:
  struct File {
    EntryKind kind = EntryKind::kDirectory;
    std::uint32_t mode = 0755;
    std::string content{};  // digest of a file, target of a link
  };
  std::optional<std::string> resolve(const std::string& path) const;
  void add_parents(const std::string& path);

  std::map<std::string, File> files_;
  std::size_t name_bytes_ = 0;
};

// Returns the entries of a context for its layer. All belong to root, and `index` gets each. Those
// that `ignored` names are left out; it may be null. `index` outlives the source.
std::unique_ptr<LayerSource> context_entries(std::unique_ptr<LayerSource> entries,
                                             BuildContext& index,
                                             std::optional<dockerfile::IgnoreList> ignored);

}  // namespace cay::core
