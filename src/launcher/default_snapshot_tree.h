// TreeWriter: fills a snapshot's root with hard links to, or copies of, a host's files, and with
// files of our own. Follows no symbolic link of either tree.
//
// It takes only what every user of the host may read: regular files with o+r, directories with
// o+rx, symbolic links. It takes no sockets, devices and FIFOs, and no other mounts. Set-id bits
// and file capabilities never come along by themselves: such a file is copied without them.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/config.h"

namespace cay::launcher {

// TreeCopier: takes one tree of the host over, entry by entry, as hard links or copies.
class TreeCopier {
 public:
  enum class How : std::uint8_t { kLink, kCopy };
  // Whether to leave out the entry at `path` ("usr/lib/x", no leading slash).
  using Skip = std::function<bool(std::string_view path)>;
  struct Walk {
    How how = How::kLink;
    const Skip& skip;
    std::string path;  // of the directory being read, for messages and `skip`
    std::uint64_t mount_id = 0;
  };

  explicit TreeCopier(Progress progress) : progress_(std::move(progress)) {}

  // Takes entry `name` of directory `from` to directory `to`, with all below it.
  Result<void> entry(Walk& walk, int from, int to, const char* name);
  // Copies one file, and gives the copy these bits.
  Result<void> copy_file(int from, int to, const char* name, const struct stat& info, mode_t mode);

  std::uint64_t copied_bytes() const { return copied_bytes_; }
  std::uint64_t entries() const { return entries_; }

 private:
  Result<void> fill(Walk& walk, int from, int to);
  Result<void> subdirectory(Walk& walk, int from, int to, const char* name);
  Result<void> regular(Walk& walk, int from, int to, const char* name, const struct stat& info);
  void count(std::string_view what);

  Progress progress_;
  bool can_link_ = true;  // cleared once a link fails because the trees are on two file systems
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t entries_ = 0;
};

class TreeWriter {
 public:
  using Skip = TreeCopier::Skip;

  // `host` and `root` are open directories and must outlive this.
  TreeWriter(int host, int root, Progress progress)
      : host_(host), root_(root), copier_(std::move(progress)) {}

  // The tree at `path` as hard links; files become copies where a link is impossible (another file
  // system, too many links) or would carry privilege. An absent or hidden path is no error.
  Result<void> link_tree(const std::string& path, const Skip& skip = {});

  // The same, always copies.
  Result<void> copy_tree(const std::string& path, const Skip& skip = {});

  // Our own entries. Parents must exist; an existing entry is replaced (a directory: kept).
  Result<void> make_dir(const std::string& path, mode_t mode, uid_t uid = 0, gid_t gid = 0);
  Result<void> make_file(const std::string& path, std::string_view text, mode_t mode = 0644,
                         uid_t uid = 0, gid_t gid = 0);
  Result<void> make_link(const std::string& path, const std::string& target);

  // A copy of the host's file with these bits, if every user of the host may read it; true if it
  // was there.
  Result<bool> copy_with_mode(const std::string& path, mode_t mode);

  // These read the host. The text of a file if every user may read it, else "".
  std::string host_text(const std::string& path);
  std::vector<std::string> host_names(
      const std::string& path);                    // in a directory, sorted; the same condition
  bool host_has(const std::string& path);          // without following a last link
  std::string host_link(const std::string& path);  // the target of a symbolic link, else ""
  std::optional<struct stat> host_entry(const std::string& path);  // without following a last link
  bool has(const std::string& path);                               // in the new tree
  std::string text(const std::string& path);  // in the new tree; "" where there is none

  std::uint64_t copied_bytes() const { return copier_.copied_bytes() + written_bytes_; }
  std::uint64_t entries() const { return copier_.entries(); }

 private:
  Result<void> tree(const std::string& path, TreeCopier::How how, const Skip& skip);

  int host_;
  int root_;
  // has() keeps the directory that it opened last: the next call is mostly for the same one.
  std::string asked_directory_;
  UniqueFd asked_;
  TreeCopier copier_;
  std::uint64_t written_bytes_ = 0;
};

}  // namespace cay::launcher
