#include "keeper/file_layer_check.h"

#include <linux/limits.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/relative_path.h"
#include "keeper/file_error.h"
#include "keeper/file_layer.h"

namespace cay::keeper {
namespace {

constexpr std::uint32_t kMostOwner = 65535;  // of a sandbox's users
constexpr std::size_t kMostAttribute = 65536;

LayerKind kind_of(const wire::LayerEntryMsg& entry) { return static_cast<LayerKind>(entry.kind); }

Error refused(const wire::LayerEntryMsg& entry, const std::string& why) {
  return bad_layer(entry.path, why, 0);
}

// Others than those of a layer are left out: they mean nothing inside, as labels of SELinux.
Result<void> check_attributes(wire::LayerEntryMsg& entry) {
  const bool can_have =
      kind_of(entry) == LayerKind::kFile || kind_of(entry) == LayerKind::kDirectory;
  std::vector<wire::XattrMsg> kept;
  for (wire::XattrMsg& one : entry.xattrs) {
    if (one.name.starts_with("trusted.") || one.name.starts_with(kOverlayAttributes))
      return refused(entry, "it has an attribute of the file system's own: " + one.name);
    if (!is_layer_attribute(one.name)) continue;
    if (one.name.size() > XATTR_NAME_MAX || one.name.find('\0') != std::string::npos ||
        one.value.size() > kMostAttribute)
      return refused(entry, "it has an attribute that is too large");
    if (!can_have) return refused(entry, "only files and directories have attributes");
    kept.push_back(std::move(one));
  }
  entry.xattrs = std::move(kept);
  return {};
}

}  // namespace

Result<void> check_layer_entry(wire::LayerEntryMsg& entry) {
  if (!is_plain_relative(entry.path) || entry.path.size() >= PATH_MAX)
    return refused(entry, "its path is not one within the root");
  if (entry.kind < static_cast<std::uint8_t>(LayerKind::kFile) ||
      entry.kind > static_cast<std::uint8_t>(LayerKind::kOpaque))
    return refused(entry, "a layer has no entries of this kind");
  if (entry.path.empty() && kind_of(entry) != LayerKind::kDirectory &&
      kind_of(entry) != LayerKind::kOpaque)
    return refused(entry, "the root is a directory");
  if (entry.size != 0 && kind_of(entry) != LayerKind::kFile)
    return refused(entry, "something other than a file has content");
  if (entry.size > INT64_MAX) return refused(entry, "it is too large");
  if ((entry.mode & ~07777U) != 0) return refused(entry, "its mode has more than permissions");
  if (entry.uid > kMostOwner || entry.gid > kMostOwner)
    return refused(entry, "its owner " + std::to_string(entry.uid) + ":" +
                              std::to_string(entry.gid) +
                              " is beyond 65535, the last user of a sandbox");
  const bool links =
      kind_of(entry) == LayerKind::kSymlink || kind_of(entry) == LayerKind::kHardLink;
  if (links && (entry.target.empty() || entry.target.size() >= PATH_MAX ||
                entry.target.find('\0') != std::string::npos))
    return refused(entry, "its target is not a path");
  if (kind_of(entry) == LayerKind::kHardLink && !is_plain_relative(entry.target))
    return refused(entry, "it links to a path that is not within the root: " + entry.target);
  return check_attributes(entry);
}

Error layer_failure(const std::string& path, int err) {
  Error error = file_error(err, layer_entry_name(path));
  if (error.code == Code::kExhausted || error.code == Code::kInternal) return error;
  error.code = Code::kInvalidArgument;
  error.reason = "bad_layer";
  return error;
}

}  // namespace cay::keeper
