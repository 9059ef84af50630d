// copy and move. A copy has the mode, the times and the users' extended attributes of the original.
// It has the owner, too, if this user may give files away.
#include <fcntl.h>
#include <stdio.h>  // renameat2
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "keeper/file_details.h"
#include "keeper/file_error.h"
#include "keeper/file_names.h"
#include "keeper/file_paths.h"
#include "keeper/file_removal.h"
#include "keeper/file_task.h"

namespace cay::keeper {
namespace {

constexpr int kMostCopyDepth = 250;  // each level holds two descriptors
constexpr int kOpenTree = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

FileId id_of(const struct stat& info) { return {info.st_dev, info.st_ino}; }

// One end of a copy: a name in an open directory, and what the caller calls it.
struct End {
  UniqueFd parent;
  std::string name, shown;
};

Result<End> end_of(const wire::FileOp& op, const std::string& path) {
  End out;
  out.shown = shown_path(op, path);
  out.name = base_of(path);
  if (out.name.empty() || out.name == "." || out.name == "..") {
    return Error{Code::kInvalidArgument, "bad_path",
                 out.shown + ": name what to copy or move by its own name", 0};
  }
  CAY_TRY(out.parent,
          open_path(AT_FDCWD, parent_of(path).c_str(), O_RDONLY | O_DIRECTORY, out.shown));
  return out;
}

std::string joined(const std::string& shown, const std::string& name) {
  return shown.ends_with('/') ? shown + name : shown + "/" + name;
}

// How a copy treats FIFOs, sockets and devices. A file helper cannot make them.
enum class Special : bool { kLeaveOut, kRefuse };

class Copier {
 public:
  Copier(FileChannel& channel, Special special) : channel_(channel), special_(special) {
    channel_.on_hangup = [this] {
      channel_.on_hangup = nullptr;
      if (pending_) pending_->discard();
      discard_tree();
    };
  }
  ~Copier() { channel_.on_hangup = nullptr; }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  wire::FileDoneMsg done;

  // Copies `from` to `to`. A directory that is not there yet appears whole or not at all. One that
  // exists gets the entries of `from` beside its own, unless `existing` refuses.
  Result<void> run(const End& from, const End& to, Existing existing, bool merge) {
    struct stat info{};
    if (::fstatat(from.parent.get(), from.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return file_error(errno, from.shown);
    if (!S_ISDIR(info.st_mode)) {
      if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) return not_a_regular_file(from.shown);
      return copy_entry(from.parent.get(), from.name, info, to.parent.get(), to.name,
                        {from.shown, to.shown}, existing, 0);
    }
    struct stat old{};
    const bool exists = ::fstatat(to.parent.get(), to.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && existing == Existing::kRefuse) return file_error(EEXIST, to.shown);
    if (exists && merge) {
      if (!S_ISDIR(old.st_mode)) {
        return Error{Code::kAlreadyExists, "already_exists",
                     to.shown + ": exists and is not a directory", EEXIST};
      }
      target_ = id_of(old);
      return copy_directory(from.parent.get(), from.name, to.parent.get(), to.name,
                            {from.shown, to.shown}, 0);
    }
    return copy_new_tree(from, to, existing);
  }

 private:
  struct Shown {
    std::string from, to;
  };

  Result<void> copy_new_tree(const End& from, const End& to, Existing existing) {
    CAY_TRY(tree_, make_directory_beside(to));
    tree_parent_ = to.parent.get();
    struct stat info{};
    if (::fstatat(tree_parent_, tree_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return file_error(errno, to.shown);
    target_ = id_of(info);
    auto copied = copy_directory(from.parent.get(), from.name, tree_parent_, tree_,
                                 {from.shown, to.shown}, 0);
    if (copied) {
      const unsigned flags = existing == Existing::kRefuse ? RENAME_NOREPLACE : 0;
      if (::renameat2(tree_parent_, tree_.c_str(), tree_parent_, to.name.c_str(), flags) == 0) {
        tree_.clear();
        return {};
      }
      copied = file_error(errno, to.shown);
    }
    discard_tree();
    return copied;
  }

  static Result<std::string> make_directory_beside(const End& to) {
    for (int tries = 0; tries < 8; ++tries) {
      CAY_TRY(std::string name, temporary_name(to.shown));
      if (::mkdirat(to.parent.get(), name.c_str(), 0700) == 0) return name;
      if (errno != EEXIST) break;
    }
    return file_error(errno, to.shown);
  }

  void discard_tree() {
    if (tree_.empty()) return;
    const std::string name = std::exchange(tree_, std::string());
    auto gone = remove_tree(channel_, tree_parent_, name, name);
    static_cast<void>(gone);  // what is left has a name that nobody uses
  }

  Result<void> copy_entry(int from, const std::string& name, const struct stat& info, int to,
                          const std::string& to_name, const Shown& shown, Existing existing,
                          int depth) {
    channel_.heartbeat();
    if (S_ISREG(info.st_mode)) return copy_file(from, name, to, to_name, shown, existing);
    if (S_ISLNK(info.st_mode)) return copy_link(from, name, info, to, to_name, shown, existing);
    if (S_ISDIR(info.st_mode)) return copy_directory(from, name, to, to_name, shown, depth);
    if (special_ == Special::kRefuse) return not_a_regular_file(shown.from);
    ++done.left_out;
    return {};
  }

  Result<void> copy_file(int from, const std::string& name, int to, const std::string& to_name,
                         const Shown& shown, Existing existing) {
    struct stat info{};
    CAY_TRY(const UniqueFd file, open_regular(from, name.c_str(), shown.from, true, info));
    CAY_TRY(auto pending, PendingFile::create(to, shown.to));
    pending_ = &pending;
    auto copied = fill(file.get(), info, pending, to_name, shown, existing);
    pending_ = nullptr;
    return copied;
  }

  Result<void> fill(int file, const struct stat& info, PendingFile& pending,
                    const std::string& to_name, const Shown& shown, Existing existing) {
    std::vector<char> buffer(wire::kDataChunk);
    for (;;) {
      const ssize_t got = ::read(file, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(errno, shown.from);
      if (got == 0) break;
      channel_.heartbeat();
      const auto size = static_cast<std::size_t>(got);
      CAY_CHECK(pending.write(std::string_view(buffer.data(), size), shown.to));
      done.bytes += size;
    }
    CAY_CHECK(pending.finish(shown.to));
    CAY_CHECK(copy_attributes(file, info, pending.fd(), shown));
    CAY_CHECK(pending.commit(to_name, shown.to, existing));
    ++done.entries;
    return {};
  }

  Result<void> copy_link(int from, const std::string& name, const struct stat& info, int to,
                         const std::string& to_name, const Shown& shown, Existing existing) {
    const wire::FileInfoMsg facts = info_of(shown.from, info, from, name.c_str());
    struct stat old{};
    if (existing == Existing::kReplace &&
        ::fstatat(to, to_name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISDIR(old.st_mode)) return is_a_directory(shown.to);
      ::unlinkat(to, to_name.c_str(), 0);
    }
    if (::symlinkat(facts.target.c_str(), to, to_name.c_str()) != 0)
      return file_error(errno, shown.to);
    [[maybe_unused]] const int owned =
        ::fchownat(to, to_name.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW);
    ++done.entries;
    return {};
  }

  Result<void> copy_directory(int from, const std::string& name, int to, const std::string& to_name,
                              const Shown& shown, int depth) {
    if (depth > kMostCopyDepth) {
      return Error{Code::kUnsupported, "tree_too_deep",
                   shown.from + ": lies more than 250 directories deep", 0};
    }
    CAY_TRY(const UniqueFd source, open_path(from, name.c_str(), kOpenTree, shown.from));
    struct stat info{};
    if (::fstat(source.get(), &info) != 0) return file_error(errno, shown.from);
    if (target_ == id_of(info)) {
      return Error{Code::kInvalidArgument, "bad_path",
                   shown.to + ": lies in what is to be copied or moved", 0};
    }
    const bool made = ::mkdirat(to, to_name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return file_error(errno, shown.to);
    const UniqueFd target(::openat(to, to_name.c_str(), kOpenTree));
    if (!target) return file_error(errno == ELOOP ? ENOTDIR : errno, shown.to);
    CAY_TRY(const auto names, names_in(source.get(), shown.from));
    for (const std::string& entry : names) {
      struct stat facts{};
      const Shown below{joined(shown.from, entry), joined(shown.to, entry)};
      if (::fstatat(source.get(), entry.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // gone meanwhile
        return file_error(errno, below.from);
      }
      CAY_CHECK(copy_entry(source.get(), entry, facts, target.get(), entry, below,
                           Existing::kReplace, depth + 1));
    }
    ++done.entries;
    const bool of_new_tree = depth == 0 && !tree_.empty();
    if (!made && !of_new_tree) return {};  // it was there: its own attributes stay
    // Last: what is written into a directory changes its time, and its mode may forbid writing.
    return copy_attributes(source.get(), info, target.get(), shown);
  }

  static Result<void> copy_attributes(int from, const struct stat& info, int to,
                                      const Shown& shown) {
    CAY_TRY(const auto xattrs, xattrs_of(from, shown.from));
    for (const wire::XattrMsg& one : xattrs) {
      if (!one.name.starts_with("user.")) continue;
      if (::fsetxattr(to, one.name.c_str(), one.value.data(), one.value.size(), 0) != 0 &&
          errno != EOPNOTSUPP)
        return file_error(errno, shown.to);
    }
    mode_t mode = info.st_mode & 07777;
    // The owner first: a change of owner clears setuid bits. A file that becomes another's keeps
    // none.
    if (::fchown(to, info.st_uid, info.st_gid) != 0) mode &= 01777;
    if (::fchmod(to, mode) != 0) return file_error(errno, shown.to);
    const timespec times[2] = {info.st_atim, info.st_mtim};
    ::futimens(to, times);
    return {};
  }

  FileChannel& channel_;
  const Special special_;
  std::optional<FileId> target_;    // of a directory: it is not copied into itself
  PendingFile* pending_ = nullptr;  // under way
  std::string tree_;                // a new directory under its temporary name
  int tree_parent_ = -1;
};

Existing existing_of(const wire::FileOp& op) {
  return op.exclusive ? Existing::kRefuse : Existing::kReplace;
}

Result<void> make_target_parents(const wire::FileOp& op) {
  if (!op.parents) return {};
  return make_directories(parent_of(op.to), 0755);
}

}  // namespace

Result<void> copy_path(FileChannel& channel, const wire::FileOp& op) {
  CAY_TRY(const End from, end_of(op, op.path));
  struct stat info{};
  if (::fstatat(from.parent.get(), from.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return file_error(errno, from.shown);
  if (S_ISDIR(info.st_mode) && !op.recursive) {
    return Error{Code::kInvalidArgument, "is_a_directory",
                 from.shown + ": is a directory: copy it recursively", EISDIR};
  }
  if (!S_ISDIR(info.st_mode) && op.to.ends_with('/')) return is_a_directory(shown_path(op, op.to));
  CAY_CHECK(make_target_parents(op));
  CAY_TRY(const End to, end_of(op, op.to));
  Copier copier(channel, Special::kLeaveOut);
  CAY_CHECK(copier.run(from, to, existing_of(op), true));
  channel.send(wire::Type::kFileDone, copier.done);
  channel.ok();
  return {};
}

Result<void> move_path(FileChannel& channel, const wire::FileOp& op) {
  CAY_TRY(const End from, end_of(op, op.path));
  CAY_CHECK(make_target_parents(op));
  CAY_TRY(const End to, end_of(op, op.to));
  const std::string shown = from.shown + " to " + to.shown;
  const unsigned flags = op.exclusive ? RENAME_NOREPLACE : 0;
  wire::FileDoneMsg done;
  done.entries = 1;
  if (::renameat2(from.parent.get(), from.name.c_str(), to.parent.get(), to.name.c_str(), flags) !=
      0) {
    if (errno != EXDEV) return file_error(errno, shown);
    // Another file system, or a directory of a layer below, which overlayfs does not rename.
    Copier copier(channel, Special::kRefuse);
    CAY_CHECK(copier.run(from, to, existing_of(op), false));
    done = copier.done;
    done.copied = true;
    struct stat info{};
    const bool directory =
        ::fstatat(from.parent.get(), from.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(info.st_mode);
    Result<void> removed;
    if (directory) {
      removed = remove_tree(channel, from.parent.get(), from.name, from.shown);
    } else if (::unlinkat(from.parent.get(), from.name.c_str(), 0) != 0) {
      removed = file_error(errno, from.shown);
    }
    if (!removed) {
      Error error = std::move(removed).error();
      error.message =
          to.shown + " is whole, but not all of the original could be removed: " + error.message;
      return error;
    }
  }
  channel.send(wire::Type::kFileDone, done);
  channel.ok();
  return {};
}

}  // namespace cay::keeper
