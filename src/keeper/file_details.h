// FileDetails: adds to the facts of a file the names of its owners and its extended attributes.
#pragma once
#include <string>

#include "base/result.h"
#include "keeper/file_owner.h"
#include "wire/messages.h"

namespace cay::keeper {

// The extended attributes of the open file `fd`, which may be O_PATH. Fails kExhausted
// (attributes_too_large). Attributes that the user may not read are left out.
Result<std::vector<wire::XattrMsg>> xattrs_of(int fd, const std::string& shown);

// Returns the path by which the kernel names an open file of this process.
std::string proc_path(int fd);

class FileDetails {
 public:
  explicit FileDetails(const wire::FileOp& op)
      : with_names_(op.with_names), with_xattrs_(op.with_xattrs) {}

  // Adds to the facts of `name` below `dir` the members that the operation requests.
  Result<void> add(wire::FileInfoMsg& info, int dir, const char* name, bool follow);

 private:
  const bool with_names_, with_xattrs_;
  OwnerNames names_;
};

}  // namespace cay::keeper
