// LayerPlace: finds where an entry of a layer lies.
//
// The entries are foreign. The kernel resolves each path within the root (RESOLVE_IN_ROOT), so a
// link in it leads nowhere else. The last part of a path is never followed.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::keeper {

class LayerPlace {
 public:
  explicit LayerPlace(int root) : root_(root) {}

  // Opens what lies at `path`, with all links resolved within the root.
  UniqueFd open(const std::string& path, int flags) const;
  // Sets dir() and name() for `path`, and makes missing parents if `make` is set. Returns false if
  // the parent is missing and `make` is not set.
  Result<bool> find(const std::string& path, bool make);
  // The next find() opens the directory anew.
  void forget() { dir_.reset(); }

  int dir() const { return dir_.get(); }
  const char* name() const { return name_.c_str(); }

 private:
  // Makes the directories of `path` that are missing, as root's. Errors name `entry`.
  Result<void> make_parents(const std::string& entry, const std::string& path) const;

  const int root_;
  UniqueFd dir_;
  std::string dir_path_;  // of dir_
  std::string name_;      // in dir_
};

}  // namespace cay::keeper
