// Small shared parts of the file verbs.
#pragma once
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/sparse_file.h"
#include "base/unique_fd.h"
#include "wire/messages.h"

namespace cay::keeper {

// `path` as the answer names it: absolute, by the operation's working directory.
std::string shown_path(const wire::FileOp& op, const std::string& path);

// `target` is read from the link `name` under `dir` when `info` is a symlink's.
wire::FileInfoMsg info_of(std::string path, const struct stat& info, int dir, const char* name);

// open(2) of `path` below `dir` for file work. It follows no link of /proc that leads into a
// process (PID/fd, cwd, exe, root), for the helper's own descriptors are the keeper's. It opens
// nothing of the helper's own in /proc. Fails permission_denied for these.
Result<UniqueFd> open_path(int dir, const char* path, int flags, const std::string& shown);
// stat(2) and lstat(2), for the same.
Result<void> stat_path(int dir, const char* path, bool follow, struct stat& info,
                       const std::string& shown);

// Opens a regular file for reading; never waits (FIFOs, leases), never follows when `nofollow`.
// The helper's own entries in /proc are refused: its memory is a copy of the keeper's.
Result<UniqueFd> open_regular(int dir, const char* name, const std::string& shown, bool nofollow,
                              struct stat& info);

// Returns the file that a change of `path` goes to, through symbolic links at its end, dangling
// ones too.
Result<std::string> final_target(const std::string& path, const std::string& shown);

// Makes `path` and its parents as far as they are missing.
Result<void> make_directories(const std::string& path, mode_t mode);

timespec time_of(std::int64_t ns);  // since 1970

std::string parent_of(const std::string& path);
std::string base_of(const std::string& path);

// How a rename treats a file that has the target's name already.
enum class Existing : bool { kReplace, kRefuse };

// A name that nobody else has, for a file or a directory that does not have its own name yet.
Result<std::string> temporary_name(const std::string& shown);
bool is_temporary_name(std::string_view name);

// A file being written for a directory; gone unless committed.
//
// It has no name until then where the file system allows that. Elsewhere it has a temporary one.
class PendingFile {
 public:
  static Result<PendingFile> create(int dir, const std::string& shown);
  PendingFile(PendingFile&& other) noexcept = default;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile() { discard(); }
  int fd() const { return file_.get(); }
  // Zeros of whole blocks become holes: a sparse file is not larger here than it was.
  Result<void> write(std::string_view bytes, const std::string& shown);
  // As of SparseFile.
  void pass_cache_by(bool on) { content_.pass_cache_by(on); }
  std::uint64_t end() const { return content_.end(); }
  // Called after the last byte, before its facts are read or set.
  Result<void> finish(const std::string& shown);
  // Gives it `name` in its directory. One that replaces a file has a temporary name just before.
  Result<void> commit(const std::string& name, const std::string& shown,
                      Existing existing = Existing::kReplace);
  void discard();

 private:
  // An empty name: none yet.
  PendingFile(int dir, std::string name, UniqueFd file)
      : dir_(dir), name_(std::move(name)), file_(std::move(file)), content_(file_.get()) {}
  int link_as(const std::string& name) const;  // as linkat(2)

  int dir_;  // the caller's; outlives this
  std::string name_;
  UniqueFd file_;
  SparseFile content_;
};

}  // namespace cay::keeper
