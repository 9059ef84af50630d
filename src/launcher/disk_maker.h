// DiskMaker: a child that makes a disk as a copy, or removes the old one first. A copy waits for
// the file system, which may take seconds. The launcher serves others meanwhile.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/host.h"

namespace cay::launcher {

struct DiskPlan {
  std::string id;
  std::uint64_t bytes = 0;
  bool fresh = false;  // what is there is removed first
  DiskOrigin origin;
};

class DiskMaker {
 public:
  static Result<DiskMaker> start(Host& host, const DiskPlan& plan);

  int fd() const { return pidfd_.get(); }  // readable: it has ended
  bool has_ended() const;
  // Once it has ended, and once only.
  Result<void> result();
  void kill() const;

 private:
  UniqueFd pidfd_, words_;
  pid_t pid_ = 0;
};

}  // namespace cay::launcher
