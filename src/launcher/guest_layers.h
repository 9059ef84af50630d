// The two layers that Cay itself gives to a sandbox's root file system. They lie in memory and are
// made anew at each boot. Their files are not on the sandbox's disk, so no snapshot contains them.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct InitPlan;

inline constexpr const char* kBaseLayer = "base";  // directories of the staging area
inline constexpr const char* kNamesLayer = "names";

// Makes the lowest layer: empty directories for mounts. A layer above that has the directory counts
// before it.
Result<void> make_base_layer(int staging, const InitPlan& plan);

// Makes the highest layer: /etc/hostname, /etc/hosts and, with a way out, /etc/resolv.conf. They
// cover the snapshot's files and links of those names. A program inside that changes one changes a
// copy on the disk. Returns false if the sandbox gets no such layer: it builds a layer, or /etc of
// the snapshot is no directory.
Result<bool> make_names_layer(int staging, const InitPlan& plan,
                              const std::vector<UniqueFd>& layers);

// Returns the lines of /etc/hosts for a sandbox of that name.
std::string own_names(const std::string& hostname);

}  // namespace cay::launcher
