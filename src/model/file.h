// File facts as the sandbox shows them. Guest paths are plain strings, resolved only inside.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace cay {

enum class FileKind : std::uint8_t { kFile = 1, kDirectory = 2, kSymlink = 3, kOther = 4 };

struct FileInfo {
  std::string path;  // absolute, as requested or found
  FileKind kind = FileKind::kFile;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime_ns = 0;  // since 1970
  std::uint64_t inode = 0;    // with mtime and size: the ETag
  std::string target;         // of a symlink
};

struct GrepMatch {
  std::string path;
  std::uint64_t line = 0;  // from 1
  std::string text;        // without the line end; cut at 4 KiB
};

struct GlobResult {
  std::vector<FileInfo> matches;
  bool truncated = false;  // at the limit or the deadline
};
struct GrepResult {
  std::vector<GrepMatch> matches;
  bool truncated = false;
};

// The user of the file work, and the directory from which relative paths count.
struct FileAs {
  std::string user;     // empty: root
  std::string workdir;  // empty: "/"
};

}  // namespace cay
