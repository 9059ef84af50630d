#include "launcher/store_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "launcher/default_snapshot.h"
#include "launcher/layer_store.h"
#include "launcher/validate.h"
#include "os/file.h"

namespace cay::launcher {
namespace {

class StoreChecker {
 public:
  StoreChecker(const Host& host, const std::set<std::string>& busy, StoreRepair repair)
      : host_(host), busy_(busy), repair_(repair) {}

  Result<std::vector<wire::StoreFindingMsg>> run() {
    CAY_TRY(const auto names, os::list_dir(host_.layers.get()));
    for (const std::string& name : names) {
      if (is_uuid(name)) {
        look_at_layer(name);
      } else {
        look_at_rest(name);
      }
    }
    if (host_.disks.need_pool()) {
      CAY_TRY(const auto stored, os::list_dir(host_.disks.store()));
      for (const std::string& name : stored) look_at_disk(name);
    }
    return std::move(found_);
  }

 private:
  bool is_there(int dir, const std::string& name) const {
    struct stat info{};
    return ::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  }

  wire::StoreFindingMsg& add(std::string kind, std::string subject, std::string meaning,
                             std::string remedy) {
    wire::StoreFindingMsg one;
    one.kind = std::move(kind);
    one.subject = std::move(subject);
    one.meaning = std::move(meaning);
    one.remedy = std::move(remedy);
    found_.push_back(std::move(one));
    return found_.back();
  }

  // `removal` runs if a repair is wanted.
  template <class Removal>
  void add_removable(std::string kind, const std::string& subject, std::string meaning,
                     const Removal& removal) {
    auto& one = add(std::move(kind), subject, std::move(meaning),
                    "repair it: nothing needs it, and it is removed");
    one.can_repair = true;
    if (repair_ == StoreRepair::kNo) return;
    const Result<void> removed = removal();
    one.repaired = static_cast<bool>(removed);
    if (!removed) one.remedy = "it could not be removed: " + removed.error().message;
  }

  void look_at_layer(const std::string& id) {
    if (busy_.contains(id) || is_there(host_.layers.get(), id + "/root")) return;
    const std::string remade = "delete the snapshots that stand on it, and make or pull them again";
    if (!is_there(host_.layers.get(), id + "/layers"))
      add("layer_without_list", id, "the layer does not name the layers below it", remade);
    const auto stack = stack_of(host_, id);
    if (!stack) add("layer_with_broken_list", id, stack.error().message, remade);
    for (std::size_t i = 1; stack && i < stack->size(); ++i) {
      if (!is_there(host_.layers.get(), (*stack)[i]))
        add("layer_without_base", id, "it stands on the layer " + (*stack)[i] + ", which is gone",
            remade);
    }
    if (!host_.disks.need_pool()) return;
    const std::string disk = kLayerInStore + id;
    if (!is_there(host_.disks.store(), disk + "/upper")) {
      add("layer_without_disk", id, "the files of the layer are gone", remade);
    } else if (::faccessat(host_.disks.store(), disk.c_str(), W_OK, 0) == 0 || errno != EROFS) {
      add("layer_not_sealed", id, "the files of the layer can be changed, and may have been",
          remade);
    }
  }

  void look_at_rest(const std::string& name) {
    for (const std::string_view prefix :
         {std::string_view(kSealingLayer), std::string_view(kRemovingSnapshot)}) {
      if (!name.starts_with(prefix)) continue;
      const std::string id = name.substr(prefix.size());
      if (busy_.contains(id)) return;
      const bool was_sealed = prefix == kSealingLayer;
      add_removable(was_sealed ? "unfinished_seal" : "unfinished_removal", id,
                    was_sealed ? "a layer was begun, and its making was cut off"
                               : "the removal of a layer was cut off",
                    [&]() -> Result<void> {
                      if (is_uuid(id) && !is_there(host_.layers.get(), id)) {
                        CAY_CHECK(remove_sealed(host_, id));
                      }
                      return os::remove_tree(host_.layers.get(), name);
                    });
    }
  }

  void look_at_disk(const std::string& name) {
    const std::string_view prefix = kLayerInStore;
    if (!name.starts_with(prefix)) return;
    const std::string id = name.substr(prefix.size());
    if (busy_.contains(id) || is_there(host_.layers.get(), id)) return;
    if (is_there(host_.layers.get(), kSealingLayer + id) ||
        is_there(host_.layers.get(), kRemovingSnapshot + id))
      return;  // found there
    add_removable("stray_disk_of_layer", id, "the files of a layer that does not exist",
                  [&] { return remove_sealed(host_, id); });
  }

  const Host& host_;
  const std::set<std::string>& busy_;
  const StoreRepair repair_;
  std::vector<wire::StoreFindingMsg> found_;
};

}  // namespace

Result<std::vector<wire::StoreFindingMsg>> check_store(const Host& host,
                                                       const std::set<std::string>& busy,
                                                       StoreRepair repair) {
  return StoreChecker(host, busy, repair).run();
}

}  // namespace cay::launcher
