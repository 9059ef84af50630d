// DataLock: one daemon for one data directory. Held by flock on DATA/lock: the kernel lets it go
// when the process ends, however it ends.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::store {

class DataLock {
 public:
  // kUnavailable (data_dir_locked) when another daemon has it, os_error when it cannot be made.
  static Result<DataLock> take(const std::string& data_dir);

 private:
  explicit DataLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace cay::store
