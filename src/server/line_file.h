// LineFile: a log of whole lines, mode 0600, that turns over by size. A line that finds no room
// leaves nothing of itself behind.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::server {

class LineFile {
 public:
  // Past `bytes` NAME.log becomes NAME.1.log, and so on to `older`; the oldest goes.
  struct Limits {
    std::uint64_t bytes = 64 << 20;
    std::size_t older = 8;
  };
  // Adds an end to a line that an earlier process left without one.
  static Result<LineFile> open(std::string path, Limits limits);

  // One write(2): in the file (not yet on the disk) when it returns, or, where it fails, not at
  // all.
  Result<void> append(std::string_view line);

 private:
  LineFile(std::string path, Limits limits, UniqueFd fd, std::uint64_t size, bool torn)
      : path_(std::move(path)), limits_(limits), fd_(std::move(fd)), size_(size), torn_(torn) {}
  Result<void> look();
  std::string older(std::size_t number) const;
  void turn_over();

  std::string path_;
  Limits limits_;
  UniqueFd fd_;
  std::uint64_t size_;  // as far as this process knows: others may write to the file, too
  bool torn_;           // its last line has no end
};

}  // namespace cay::server
