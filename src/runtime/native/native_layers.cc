#include "runtime/native/native_layers.h"

#include <string>
#include <string_view>

#include "runtime/native/launcher_messages.h"
#include "wire/launcher_features.h"
#include "wire/store_check.h"

namespace cay::runtime {
namespace {

namespace feature = wire::launcher_feature;

// A seal writes to the disk what the sandbox has in memory. A removal may walk a tree.
constexpr Millis kSealLimit{600'000};
constexpr Millis kRemoveLimit{120'000};
constexpr Millis kVolumeLimit{60'000};
constexpr std::size_t kMostKept = 100'000;

Error no_layers(std::string_view lack) {
  return {Code::kUnsupported, "no_layers",
          "the launcher is older than this daemon and " + std::string(lack) + ": restart it", 0};
}

Result<void> need(const wire::Hello& launcher, std::string_view word, std::string_view lack) {
  if (launcher.role.empty() || launcher.has(word)) return {};
  return no_layers(lack);
}

constexpr std::string_view kNoLayers = "seals no layers";
constexpr std::string_view kNoForks = "copies no disks";
constexpr std::string_view kNoMounts = "has no volumes";

bool has_path_rules(const core::BootSpec& spec) {
  return !spec.read_only_paths.empty() || !spec.hidden_paths.empty();
}

// One answer of type `answer`. `begun` counts how often the request was sent.
template <wire::Message M>
Task<M> one_of(LauncherClient& launcher, wire::Type request, std::string payload, wire::Type answer,
               Millis limit, int& begun) {
  M got;
  auto begin = [&got, &begun, answer]() -> LauncherClient::Take {
    ++begun;
    return [&got, answer](const wire::Frame& frame) -> Result<bool> {
      CAY_TRY(got, decode_as<M>(frame, answer, "its answer"));
      return true;
    };
  };
  CAY_CO_CHECK(co_await launcher.converse(request, std::move(payload), limit, std::move(begin)));
  co_return std::move(got);
}

template <wire::Message M>
Task<std::vector<M>> all_of(LauncherClient& launcher, wire::Type request, wire::Type answer) {
  std::vector<M> all;
  auto begin = [&all, answer]() -> LauncherClient::Take {
    all.clear();
    return [&all, answer](const wire::Frame& frame) -> Result<bool> {
      if (is(frame, wire::Type::kEof)) return true;
      CAY_TRY(auto one, decode_as<M>(frame, answer, "an entry of its list"));
      if (all.size() >= kMostKept) return unexpected_frame(frame, "an end to its list");
      all.push_back(std::move(one));
      return false;
    };
  };
  auto payload = std::string();
  CAY_CO_CHECK(
      co_await launcher.converse(request, std::move(payload), kVolumeLimit, std::move(begin)));
  co_return std::move(all);
}

Task<void> done_by(LauncherClient& launcher, wire::Type request, std::string payload,
                   Millis limit) {
  auto begin = []() -> LauncherClient::Take {
    return [](const wire::Frame& frame) -> Result<bool> {
      if (!is(frame, wire::Type::kOk)) return unexpected_frame(frame, "ok");
      return true;
    };
  };
  auto done = co_await launcher.converse(request, std::move(payload), limit, std::move(begin));
  co_return done;
}

}  // namespace

Result<void> check_layer_features(const core::BootSpec& spec, const wire::Hello& launcher) {
  if (spec.fresh_disk || spec.builds_layer) {
    CAY_CHECK(need(launcher, feature::kLayers, kNoLayers));
  }
  if (spec.disk_of) {
    CAY_CHECK(need(launcher, feature::kForks, kNoForks));
  }
  if (!spec.mounts.empty()) {
    CAY_CHECK(need(launcher, feature::kMounts, kNoMounts));
  }
  if (has_path_rules(spec) && !launcher.role.empty() && !launcher.has(feature::kPathRules)) {
    return Error{Code::kUnsupported, "paths_unsupported",
                 "the launcher is older than this daemon and makes no path read-only or hidden: "
                 "restart it",
                 0};
  }
  return {};
}

void fill_disk(const core::BootSpec& spec, wire::CreateSandbox& request) {
  request.snapshot_id = spec.layer.get();
  request.disk_of = spec.disk_of ? spec.disk_of->get() : std::string();
  request.fresh_disk = spec.fresh_disk;
  request.builds_layer = spec.builds_layer;
  request.read_only_paths = spec.read_only_paths;
  request.hidden_paths = spec.hidden_paths;
  for (const core::DiskMount& mount : spec.mounts) {
    request.mounts.push_back({.path = mount.path,
                              .volume_id = mount.volume.get(),
                              .layer_id = mount.layer.get(),
                              .read_only = mount.read_only});
  }
}

Task<core::Layer> NativeLayers::seal(SandboxId from, LayerId as) {
  CAY_CO_CHECK(need(launcher_.theirs(), feature::kLayers, kNoLayers));
  auto payload = wire::encode(wire::SealLayer{.sandbox_id = from.get(), .layer_id = as.get()});
  int begun = 0;
  auto made = co_await one_of<wire::LayerMsg>(launcher_, wire::Type::kSealLayer, std::move(payload),
                                              wire::Type::kLayer, kSealLimit, begun);
  if (made) co_return to_model(*made);
  // Sent again after a lost link: the first one may have made it.
  if (begun > 1 && made.error().reason == "layer_exists") {
    CAY_CO_TRY(const auto all, co_await list());
    for (const core::Layer& one : all) {
      if (one.id == as) co_return one;
    }
  }
  co_return std::move(made).error();
}

Task<void> NativeLayers::remove(LayerId id) {
  CAY_CO_CHECK(need(launcher_.theirs(), feature::kLayers, kNoLayers));
  wire::SnapshotMsg which;
  which.id = id.get();
  auto payload = wire::encode(which);
  auto done =
      co_await done_by(launcher_, wire::Type::kRemoveSnapshot, std::move(payload), kRemoveLimit);
  co_return done;
}

Task<std::vector<core::Layer>> NativeLayers::list() {
  CAY_CO_CHECK(need(launcher_.theirs(), feature::kLayers, kNoLayers));
  CAY_CO_TRY(const auto all, co_await all_of<wire::LayerMsg>(launcher_, wire::Type::kListLayers,
                                                             wire::Type::kLayer));
  std::vector<core::Layer> layers;
  for (const wire::LayerMsg& one : all) layers.push_back(to_model(one));
  co_return std::move(layers);
}

Task<std::vector<StoreFinding>> NativeLayers::check(bool repair) {
  CAY_CO_CHECK(need(launcher_.theirs(), feature::kLayers, kNoLayers));
  std::vector<StoreFinding> found;
  auto begin = [&found]() -> LauncherClient::Take {
    found.clear();
    return [&found](const wire::Frame& frame) -> Result<bool> {
      if (is(frame, wire::Type::kEof)) return true;
      constexpr auto kFinding = static_cast<wire::Type>(wire::StoreCheckType::kStoreFinding);
      CAY_TRY(auto one, decode_as<wire::StoreFindingMsg>(frame, kFinding, "a finding"));
      if (found.size() >= kMostKept) return unexpected_frame(frame, "an end to its findings");
      found.push_back({std::move(one.kind), std::move(one.subject), std::move(one.meaning),
                       std::move(one.remedy), one.can_repair, one.repaired});
      return false;
    };
  };
  constexpr auto kCheck = static_cast<wire::Type>(wire::StoreCheckType::kCheckStore);
  auto payload = wire::encode(wire::CheckStore{.repair = repair});
  CAY_CO_CHECK(
      co_await launcher_.converse(kCheck, std::move(payload), kRemoveLimit, std::move(begin)));
  co_return std::move(found);
}

Task<void> NativeVolumes::make(VolumeId id, std::uint64_t bytes) {
  CAY_CO_CHECK(need(launcher_.theirs(), feature::kMounts, kNoMounts));
  auto payload =
      wire::encode(wire::VolumeMsg{.volume_id = id.get(), .limit_bytes = bytes, .used_bytes = 0});
  auto done =
      co_await done_by(launcher_, wire::Type::kMakeVolume, std::move(payload), kVolumeLimit);
  co_return done;
}

Task<void> NativeVolumes::remove(VolumeId id) {
  CAY_CO_CHECK(need(launcher_.theirs(), feature::kMounts, kNoMounts));
  wire::VolumeMsg which;
  which.volume_id = id.get();
  auto payload = wire::encode(which);
  auto done =
      co_await done_by(launcher_, wire::Type::kRemoveVolume, std::move(payload), kRemoveLimit);
  co_return done;
}

Task<std::vector<std::pair<VolumeId, std::uint64_t>>> NativeVolumes::list() {
  CAY_CO_CHECK(need(launcher_.theirs(), feature::kMounts, kNoMounts));
  CAY_CO_TRY(const auto all, co_await all_of<wire::VolumeMsg>(launcher_, wire::Type::kListVolumes,
                                                              wire::Type::kVolume));
  std::vector<std::pair<VolumeId, std::uint64_t>> volumes;
  for (const wire::VolumeMsg& one : all)
    volumes.emplace_back(VolumeId(one.volume_id), one.used_bytes);
  co_return std::move(volumes);
}

}  // namespace cay::runtime
