#include "runtime/native/native_capabilities.h"

#include <string>

#include "wire/launcher_features.h"

namespace cay::runtime {
namespace {

core::Capability missing_of(const wire::FeatureMsg& feature) {
  if (feature.ok) return {};
  std::string why = feature.found.empty() ? "the host cannot: " + feature.name : feature.found;
  if (!feature.remedy.empty()) why += ": " + feature.remedy;
  return {std::move(why)};
}

core::Capability listed(const wire::Hello& launcher, std::string_view feature, const char* lack) {
  if (launcher.features.empty() || launcher.has(feature)) return {};
  return {std::string("the launcher is older than this daemon and ") + lack + ": restart it"};
}

}  // namespace

void NativeCapabilities::learn(const std::vector<wire::FeatureMsg>& probe, Time now) {
  Probed found{.programs = {}, .network = {}, .disk_limit = {}, .at = now};
  for (const wire::FeatureMsg& feature : probe) {
    if (feature.name == "program record") found.programs = missing_of(feature);
    if (feature.name == "network") found.network = missing_of(feature);
    if (feature.name == "disk quota") found.disk_limit = missing_of(feature);
  }
  probed_ = std::move(found);
}

core::Capabilities NativeCapabilities::now(const wire::Hello& launcher, bool nested_networks,
                                           Time now) const {
  namespace feature = wire::launcher_feature;
  core::Capabilities all;
  if (probed_ && now - probed_->at < kProbeCounts) {
    all.programs = probed_->programs;
    all.network = all.rules = all.vault = probed_->network;
    all.disk_limit = probed_->disk_limit;
    all.layers = probed_->disk_limit;  // both need the pool of disks
  }
  const auto lacks = [&launcher](core::Capability& one, std::string_view word, const char* lack) {
    auto missing = listed(launcher, word, lack);
    if (!missing.available()) one = std::move(missing);
  };
  lacks(all.programs, feature::kPrograms, "records no programs");
  lacks(all.tmpfs, feature::kTmpfs, "makes no file systems in memory");
  lacks(all.path_rules, feature::kPathRules, "makes no path read-only or hidden");
  lacks(all.layers, feature::kLayers, "seals no layers");
  for (auto* one : {&all.network, &all.rules, &all.vault})
    lacks(*one, feature::kPolicy, "makes no way out");
  for (const Profile profile : {Profile::kStrict, Profile::kNested})
    lacks(all.profile(profile), feature::kProfile, "knows no profiles");
  if (!nested_networks)
    lacks(all.profile(Profile::kNested), feature::kNestedNetworks,
          "lets containers make network namespaces, which the operator does not allow "
          "(host.nested_networks)");
  return all;
}

}  // namespace cay::runtime
