// SpareDirectory: the spool directory of the next command, made while nobody waits. A file system
// takes longer to make a directory and a file than to rename one.
#pragma once
#include <cstddef>
#include <string>

#include "base/unique_fd.h"

namespace cay::keeper {

class SpareDirectory {
 public:
  // `spool` lives as long as this. It uses again what an earlier keeper left.
  explicit SpareDirectory(int spool) : spool_(spool) {}

  // Makes one unless it is there. It has an empty record.
  void prepare();
  // Writes `record` into it and gives it the name `id`, in this order: under a command's name lies
  // always a whole record. Returns the directory, or -1: there is none, the disk refuses, or that
  // name is taken. The caller makes its own then.
  UniqueFd take(const std::string& id, const std::string& record);
  // A sandbox that runs one command, and no other, makes no second directory.
  bool is_worth_another() const { return taken_ > 1; }

 private:
  const int spool_;
  UniqueFd dir_, record_;
  std::size_t taken_ = 0;
};

}  // namespace cay::keeper
