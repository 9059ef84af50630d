// File facts as the sandbox shows them. Guest paths are plain strings, resolved only inside.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

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
  // Filled if FileFacts requests them.
  std::string owner{}, group{};  // names; empty: the id has none
  std::map<std::string, std::string> xattrs{};
};

// The facts that cost more than a look at the inode.
struct FileFacts {
  bool names = false;   // of owner and group
  bool xattrs = false;  // extended attributes that the user may read
};

struct ListOptions {
  std::uint32_t depth = 1;  // levels below the directory, 1 to 64
  FileFacts facts{};
};

struct TreeMode {
  std::uint32_t mode = 0;
  bool recursive = false;
};
struct TreeOwner {
  std::string owner;  // "USER", "USER:GROUP" or ":GROUP", by name or number
  bool recursive = false;
};

// A copy or a move.
struct CopyRequest {
  std::string from, to;
  bool recursive = false;      // copy: directories, too
  bool exclusive = false;      // fails if `to` exists
  bool create_parents = true;  // of `to`
};

// The extent of a change of one path or a tree.
struct ChangeCount {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;     // of content, copied
  std::uint64_t left_out = 0;  // copy: FIFOs, sockets and devices
  bool copied = false;         // move: across file systems, by a copy and a removal
};

struct ReplaceRequest {
  std::string root;  // a file or a directory
  std::string text, replacement;
  std::string file_glob{};  // as of grep
  std::uint32_t limit = 0;  // files; 0: 10,000
  bool once = false;        // a file that has the text several times gets an error, and stays
  bool one_file = false;    // `root` is a file, through links, with bytes of any kind
};
struct ReplacedFile {
  std::string path;
  std::uint64_t count = 0;       // text_not_unique: how often the text is there
  std::optional<Error> error{};  // it is as it was
};
struct ReplaceResult {
  std::vector<ReplacedFile> files;  // those that have the text
  bool truncated = false;           // at the limit or the deadline
};

enum class FileEventKind : std::uint8_t {
  kCreated = 1,
  kModified = 2,
  kAttributes = 3,
  kDeleted = 4,
  kMoved = 5,
  kGap = 6,  // changes below `path` before it may be missing
};

// A change below a watched directory.
struct FileEvent {
  std::uint64_t seq = 0;  // 1, 2, 3 … of its watch
  FileEventKind kind = FileEventKind::kCreated;
  std::string path;
  std::string to{};  // moved
  bool directory = false;
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
