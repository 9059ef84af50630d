// The words that a launcher's HELLO lists to name what it can do. A daemon checks Hello::has()
// before it relies on a feature, since a launcher of an older release may still run.
//
// A new feature is one more word here, and needs no new member of a message. Words are for ever:
// add, never reuse. Launchers older than this list send none, and set members of Created instead.
#pragma once
#include <array>
#include <string_view>

namespace cay::wire::launcher_feature {

inline constexpr std::string_view kPrograms = "programs";  // CreateSandbox::record_programs
inline constexpr std::string_view kPolicy = "policy";      // CreateSandbox::policy
inline constexpr std::string_view kProfile = "profile";    // CreateSandbox::profile
inline constexpr std::string_view kNestedNetworks = "nested-networks";  // the member of that name
inline constexpr std::string_view kTmpfs = "tmpfs";                     // CreateSandbox::tmpfs
inline constexpr std::string_view kLayers = "layers";  // kSealLayer, kListLayers, builds_layer
inline constexpr std::string_view kForks = "forks";    // CreateSandbox::disk_of
inline constexpr std::string_view kMounts = "mounts";  // CreateSandbox::mounts, volumes
inline constexpr std::string_view kPathRules = "path-rules";  // read_only_paths, hidden_paths

// All words of this release's launcher.
inline constexpr std::array kAll = {kPrograms, kPolicy, kProfile, kNestedNetworks, kTmpfs,
                                    kLayers,   kForks,  kMounts,  kPathRules};

}  // namespace cay::wire::launcher_feature
