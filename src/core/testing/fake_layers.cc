#include "core/testing/fake_layers.h"

#include <algorithm>
#include <string>

namespace cay::core::testing {
namespace {

class VectorLayer final : public LayerSource {
 public:
  VectorLayer(std::vector<LayerEvent> events, int fail_after)
      : events_(std::move(events)), fail_after_(fail_after) {}
  Task<std::optional<LayerEvent>> next() override {
    if (fail_after_ == static_cast<int>(at_))
      co_return Error{Code::kCancelled, "source_gone", "the source went away", 0};
    if (at_ == events_.size()) co_return std::optional<LayerEvent>();
    co_return std::optional<LayerEvent>(events_[at_++]);
  }

 private:
  std::vector<LayerEvent> events_;
  std::size_t at_ = 0;
  int fail_after_;
};

std::uint64_t bytes_in(const std::vector<LayerEvent>& events) {
  std::uint64_t all = 0;
  for (const LayerEvent& event : events) {
    if (const auto* bytes = std::get_if<Bytes>(&event)) all += bytes->size();
  }
  return all;
}

}  // namespace

std::vector<LayerEvent> events_below(const std::vector<LayerEvent>& events,
                                     const std::string& path) {
  std::vector<LayerEvent> out;
  bool inside = false;
  for (const LayerEvent& event : events) {
    if (const auto* bytes = std::get_if<Bytes>(&event)) {
      if (inside) out.emplace_back(*bytes);
      continue;
    }
    LayerEntry entry = std::get<LayerEntry>(event);
    const bool itself = entry.path == path;
    inside = itself || entry.path.starts_with(path + "/");
    if (!inside) continue;
    entry.path = itself ? std::string() : entry.path.substr(path.size() + 1);
    out.emplace_back(std::move(entry));
  }
  return out;
}

void put_files(const std::vector<LayerEvent>& events, FakeFiles& into, const std::string& root) {
  std::string last;
  std::uint32_t mode = 0;
  for (const LayerEvent& event : events) {
    if (const auto* bytes = std::get_if<Bytes>(&event)) {
      into.put(last, into.bytes_of(last).value_or(Bytes()) + *bytes, mode);
      continue;
    }
    const auto& entry = std::get<LayerEntry>(event);
    last = root == "/" ? "/" + entry.path : root + "/" + entry.path;
    mode = entry.mode;
    if (entry.kind == EntryKind::kDirectory) into.put_directory(last, entry.mode);
    if (entry.kind == EntryKind::kFile) into.put(last, Bytes(), entry.mode);
  }
}

std::unique_ptr<LayerSource> layer_source(std::vector<LayerEvent> events, int fail_after) {
  return std::make_unique<VectorLayer>(std::move(events), fail_after);
}

Task<Layer> FakeLayers::seal(SandboxId from, LayerId as) {
  seals.emplace_back(from, as);
  if (seal_error) co_return *seal_error;
  if (sealed.contains(as))
    co_return Error{Code::kAlreadyExists, "layer_exists", "there is such a layer", 0};
  const auto upper = upper_of_(from);
  if (!upper) co_return Error{Code::kNotFound, "sandbox_not_found", "it has no disk", 0};
  FakeLayer made;
  made.layer.id = as;
  made.layer.bytes = bytes_in(upper->entries);
  made.entries = upper->entries;
  if (!upper->stands_on.get().empty()) {
    made.layer.below.push_back(upper->stands_on);
    if (const auto below = sealed.find(upper->stands_on); below != sealed.end()) {
      const auto& more = below->second.layer.below;
      made.layer.below.insert(made.layer.below.end(), more.begin(), more.end());
    }
  }
  co_return sealed.emplace(as, std::move(made)).first->second.layer;
}

Task<void> FakeLayers::remove(LayerId id) {
  removals.push_back(id);
  if (remove_error) co_return *remove_error;
  const bool below = std::ranges::any_of(sealed, [&](const auto& one) {
    const auto& under = one.second.layer.below;
    return std::ranges::find(under, id) != under.end();
  });
  if (below || used_(id))
    co_return Error{Code::kConflict, "layer_in_use", "something stands on it", 0};
  sealed.erase(id);
  co_return Result<void>();
}

Task<std::vector<Layer>> FakeLayers::list() {
  std::vector<Layer> all;
  for (const auto& [id, one] : sealed) all.push_back(one.layer);
  co_return std::move(all);
}

Task<void> FakeVolumes::make(VolumeId id, std::uint64_t bytes) {
  if (error) co_return *error;
  kept[id].limit = bytes;
  co_return Result<void>();
}

Task<void> FakeVolumes::remove(VolumeId id) {
  if (error) co_return *error;
  kept.erase(id);
  co_return Result<void>();
}

Task<std::vector<std::pair<VolumeId, std::uint64_t>>> FakeVolumes::list() {
  if (error) co_return *error;
  std::vector<std::pair<VolumeId, std::uint64_t>> all;
  for (const auto& [id, one] : kept) all.emplace_back(id, one.used);
  co_return std::move(all);
}

}  // namespace cay::core::testing
