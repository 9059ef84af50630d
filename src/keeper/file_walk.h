// FileWalk: the walk of glob, grep and replace: never through symbolic links, bounded by a limit
// and a deadline.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "keeper/file_channel.h"
#include "wire/messages.h"

namespace cay::keeper {

inline constexpr std::size_t kBinarySniff = 8192;  // a NUL in here: binary

struct FileWalk {
  using Visit = std::function<void(int dir, const std::string& name, const struct stat& info)>;

  FileChannel& channel;
  std::int64_t until;
  std::uint32_t limit;
  bool truncated = false;
  std::vector<std::string> path{};  // relative to the root

  static FileWalk of(FileChannel& channel, const wire::FileOp& op);
  bool over();
  std::string relative() const;
  // Calls visit() for all below the open directory `dir`; `descend` decides on directories.
  void run(int dir, const Visit& visit, const std::function<bool()>& descend);
  // Calls visit() for each regular file below the directory op.path that op.file_glob names (empty:
  // each), with its path as the caller is shown it. A glob with '/' is matched with the whole path.
  using VisitFile = std::function<void(int dir, const std::string& name, const std::string& shown)>;
  Result<void> run_files(const wire::FileOp& op, const VisitFile& visit);
};

// Whether the kernel makes the open file's content: of /proc and /sys.
bool made_up_by_kernel(int fd);

}  // namespace cay::keeper
