#include "launcher/layer_store.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "base/stacked_layers.h"
#include "launcher/disks.h"
#include "launcher/validate.h"
#include "os/btrfs.h"
#include "os/file.h"
#include "os/mount.h"

namespace cay::launcher {
namespace {

constexpr int kDeepest = 4096;

std::string sealed_name(const std::string& id) { return kLayerInStore + id; }

bool has(int dir, const std::string& name) {
  struct stat info{};
  return ::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

// Adds up the disk space of all files below a directory. A file with several names counts once.
class Occupied {
 public:
  std::uint64_t of(int dir, int depth = 0) {
    const auto names = os::list_dir(dir);
    if (!names) return 0;
    std::uint64_t bytes = 0;
    for (const std::string& name : *names) {
      struct stat info{};
      if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (!S_ISDIR(info.st_mode) && info.st_nlink > 1 && !counted_.insert(info.st_ino).second)
        continue;
      bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
      if (!S_ISDIR(info.st_mode) || depth >= kDeepest) continue;
      const auto inner = os::open_dir(dir, name);
      if (inner) bytes += of(inner->get(), depth + 1);
    }
    return bytes;
  }

 private:
  std::set<ino_t> counted_;
};

// A file that is on the disk when this returns.
Result<void> write_durably(int dir, const char* name, std::string_view text) {
  CAY_TRY(const UniqueFd file, os::make_file(dir, name, text, 0600));
  if (::fsync(file.get()) != 0) return Error::from_errno(errno, std::string("write ") + name);
  return {};
}

Result<void> take_snapshot(const Host& host, const std::string& from, const std::string& id) {
  const int store = host.disks.store();
  auto disk = os::open_dir(store, from);
  if (!disk) return std::move(disk).error().while_doing("open the disk of sandbox " + from);
  return os::btrfs_snapshot(disk->get(), store, sealed_name(id));
}

Result<wire::LayerMsg> make_layer(const Host& host, const std::string& from,
                                  const std::vector<std::string>& stack, const std::string& id) {
  const int layers = host.layers.get();
  const std::string making = kSealingLayer + id;
  if (::mkdirat(layers, making.c_str(), 0700) != 0)
    return Error::from_errno(errno, "make layer " + id);
  CAY_TRY(const UniqueFd dir, os::open_dir(layers, making));
  CAY_CHECK(host.step("begin a layer"));
  CAY_CHECK(take_snapshot(host, from, id));
  CAY_CHECK(host.step("snapshot the disk"));
  wire::LayerMsg layer{id, stack, 0};
  {
    CAY_TRY(const UniqueFd upper, os::open_dir(host.disks.store(), sealed_name(id) + "/upper"));
    layer.bytes = Occupied().of(upper.get());
  }
  std::string lines;
  for (const std::string& below : stack) lines += below + "\n";
  CAY_CHECK(write_durably(dir.get(), "layers", lines));
  CAY_CHECK(write_durably(dir.get(), "bytes", std::to_string(layer.bytes) + "\n"));
  if (::fsync(dir.get()) != 0) return Error::from_errno(errno, "write layer " + id);
  CAY_CHECK(host.step("describe the layer"));
  if (::renameat(layers, making.c_str(), layers, id.c_str()) != 0 || ::fsync(layers) != 0)
    return Error::from_errno(errno, "name layer " + id);
  CAY_CHECK(host.step("name the layer"));
  return layer;
}

Result<std::vector<std::string>> read_below(int dir, const std::string& id) {
  std::vector<std::string> below;
  const auto list = os::read_file(dir, "layers");
  if (!list && list.error().os_errno != ENOENT) return list.error();
  std::string_view rest = list ? std::string_view(*list) : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string line(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty()) continue;
    if (!is_uuid(line) || below.size() >= kMostStackedLayers) {
      return Error{Code::kInternal, "bad_layers",
                   "the layers file of snapshot " + id + " is broken", 0};
    }
    below.push_back(std::move(line));
  }
  return below;
}

}  // namespace

Result<std::vector<std::string>> stack_of(const Host& host, const std::string& id) {
  const auto dir = os::open_dir(host.layers.get(), id);
  if (!dir) {
    return Error{Code::kNotFound, "snapshot_not_found", "snapshot " + id + " is not in this store",
                 0};
  }
  CAY_TRY(std::vector<std::string> stack, read_below(dir->get(), id));
  stack.insert(stack.begin(), id);
  return stack;
}

std::string nearest_sealed(const Host& host, const std::vector<std::string>& stack) {
  for (const std::string& id : stack) {
    if (!has(host.layers.get(), id + "/root")) return id;
  }
  return {};
}

Result<UniqueFd> mount_layer(const Host& host, const std::string& id) {
  CAY_TRY(const UniqueFd dir, os::open_dir(host.layers.get(), id));
  auto layer = has(dir.get(), "root")
                   ? os::clone_mount(dir.get(), "root")
                   : os::clone_mount(host.disks.store(), (sealed_name(id) + "/upper").c_str());
  if (!layer) return std::move(layer).error().while_doing("mount layer " + id);
  CAY_CHECK(os::set_mount_attributes(layer->get(),
                                     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  return layer;
}

Result<wire::LayerMsg> seal_layer(const Host& host, const std::string& from,
                                  const std::vector<std::string>& stack, const std::string& id) {
  CAY_CHECK(host.disks.need_pool());
  if (has(host.layers.get(), id)) {
    return Error{Code::kAlreadyExists, "layer_exists", "there is a layer " + id, 0};
  }
  if (stack.size() >= kMostStackedLayers) {
    return Error{Code::kExhausted, "too_many_layers",
                 "a sandbox stands on " + std::to_string(kMostStackedLayers) + " layers at most",
                 0};
  }
  const auto clear = [&]() -> Result<void> {
    CAY_CHECK(remove_sealed(host, id));
    return os::remove_tree(host.layers.get(), kSealingLayer + id);
  };
  CAY_CHECK(clear());
  auto made = make_layer(host, from, stack, id);
  if (!made && !has(host.layers.get(), id)) (void)clear();
  return made;
}

Result<std::vector<wire::LayerMsg>> list_layers(const Host& host) {
  CAY_TRY(const auto names, os::list_dir(host.layers.get()));
  std::vector<wire::LayerMsg> layers;
  for (const std::string& id : names) {
    if (!is_uuid(id) || has(host.layers.get(), id + "/root")) continue;
    CAY_TRY(std::vector<std::string> stack, stack_of(host, id));
    stack.erase(stack.begin());
    const auto bytes = os::read_file(host.layers.get(), id + "/bytes", 32);
    layers.push_back(
        {id, std::move(stack), bytes ? std::strtoull(bytes->c_str(), nullptr, 10) : 0});
  }
  return layers;
}

std::size_t layers_above(const Host& host, const std::string& id) {
  const auto layers = list_layers(host);
  if (!layers) return 1;  // it is not known: the layer stays
  return static_cast<std::size_t>(
      std::count_if(layers->begin(), layers->end(), [&](const wire::LayerMsg& layer) {
        return std::find(layer.below.begin(), layer.below.end(), id) != layer.below.end();
      }));
}

Result<void> remove_sealed(const Host& host, const std::string& id) {
  if (!host.disks.need_pool()) return {};
  CAY_CHECK(host.disks.remove_spares(id));
  return os::btrfs_delete_subvolume(host.disks.store(), sealed_name(id));
}

void remove_leftovers(const Host& host) {
  const auto names = os::list_dir(host.layers.get());
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.starts_with(kSealingLayer)) (void)os::remove_tree(host.layers.get(), name);
  }
  const auto stored = os::list_dir(host.disks.store());
  if (!stored || !host.disks.need_pool()) return;
  for (const std::string& name : *stored) {
    const bool half = name.starts_with(kMakingInStore) || name.starts_with(kSpareInStore);
    const bool stray = name.starts_with(kLayerInStore) &&
                       !has(host.layers.get(), name.substr(std::string_view(kLayerInStore).size()));
    if (half) (void)host.disks.remove_half_made(name);
    if (stray) (void)os::btrfs_delete_subvolume(host.disks.store(), name);
  }
}

}  // namespace cay::launcher
