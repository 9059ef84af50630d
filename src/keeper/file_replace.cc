// Replaces a literal text in files. Each file is read twice and replaced whole by a rename, so that
// a reader sees the old or the new content.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "keeper/file_details.h"
#include "keeper/file_error.h"
#include "keeper/file_paths.h"
#include "keeper/file_task.h"
#include "keeper/file_walk.h"

namespace cay::keeper {
namespace {

class Replacement {
 public:
  Replacement(FileChannel& channel, const wire::FileOp& op, FileWalk& walk)
      : channel_(channel), op_(op), walk_(walk) {
    channel_.on_hangup = [this] {
      if (pending_ != nullptr) pending_->discard();
    };
  }
  ~Replacement() { channel_.on_hangup = nullptr; }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // One file. It is reported if the text is in it.
  void replace(int dir, const std::string& name, const std::string& shown) {
    struct stat info{};
    auto file = open_regular(dir, name.c_str(), shown, true, info);
    if (!file || made_up_by_kernel(file->get())) return;
    count_ = 0;
    auto found = contains(file->get(), shown);
    if (found && !*found) return;
    if (reported_ >= walk_.limit) {
      walk_.truncated = true;
      return;
    }
    ++reported_;
    wire::ReplacedMsg out;
    out.path = shown;
    const Result<void> done = found ? rewrite(dir, name, file->get(), info, shown)
                                    : Result<void>(std::move(found).error());
    out.count = count_;
    if (!done) {
      if (done.error().reason != "text_not_unique") out.count = 0;
      out.code = static_cast<std::uint32_t>(done.error().code);
      out.reason = done.error().reason;
      out.message = done.error().message;
    }
    channel_.send(wire::Type::kReplaced, out);
  }

 private:
  // Calls take(piece, last) for the content, from its begin. A false answer ends it.
  template <class Take>
  Result<void> pieces(int file, const std::string& shown, Take take) {
    std::vector<char> buffer(wire::kDataChunk);
    off_t offset = 0;
    for (;;) {
      channel_.heartbeat();
      const ssize_t got = ::pread(file, buffer.data(), buffer.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(errno, shown);
      offset += got;
      const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
      CAY_TRY(const bool more, take(piece, got == 0));
      if (got == 0 || !more) return {};
    }
  }

  // Whether the text is in it. A file of a directory with a NUL at its begin is no text.
  Result<bool> contains(int file, const std::string& shown) {
    bool found = false;
    bool first = true;
    std::string held;
    CAY_CHECK(pieces(file, shown, [&](std::string_view piece, bool) -> Result<bool> {
      if (std::exchange(first, false) && !op_.one_file &&
          piece.substr(0, kBinarySniff).find('\0') != std::string_view::npos)
        return false;
      held += piece;
      found = held.find(op_.pattern) != std::string::npos;
      if (held.size() >= op_.pattern.size()) held.erase(0, held.size() - op_.pattern.size() + 1);
      return !found;
    }));
    return found;
  }

  Result<void> rewrite(int dir, const std::string& name, int file, const struct stat& info,
                       const std::string& shown) {
    // A rename needs no right to write the file itself.
    if (::faccessat(dir, name.c_str(), W_OK, AT_EACCESS) != 0) return file_error(errno, shown);
    CAY_TRY(auto pending, PendingFile::create(dir, shown));
    pending_ = &pending;
    auto done = fill(dir, name, file, info, pending, shown);
    pending_ = nullptr;
    return done;
  }

  Result<void> fill(int dir, const std::string& name, int file, const struct stat& info,
                    PendingFile& pending, const std::string& shown) {
    std::string held;
    CAY_CHECK(pieces(file, shown, [&](std::string_view piece, bool last) -> Result<bool> {
      held += piece;
      std::size_t done = 0;
      for (std::size_t at = 0; (at = held.find(op_.pattern, done)) != std::string::npos;) {
        CAY_CHECK(pending.write(std::string_view(held).substr(done, at - done), shown));
        CAY_CHECK(pending.write(op_.replacement, shown));
        ++count_;
        done = at + op_.pattern.size();
      }
      // The begin of another one may be at the end.
      std::size_t keep = last ? 0 : std::min(held.size() - done, op_.pattern.size() - 1);
      CAY_CHECK(
          pending.write(std::string_view(held).substr(done, held.size() - done - keep), shown));
      held.erase(0, held.size() - keep);
      return true;
    }));
    if (op_.once && count_ > 1) {
      return Error{Code::kInvalidArgument, "text_not_unique",
                   shown + ": the text is there " + std::to_string(count_) +
                       " times: give more of the text around it",
                   0};
    }
    CAY_CHECK(pending.finish(shown));
    CAY_TRY(const auto xattrs, xattrs_of(file, shown));
    for (const wire::XattrMsg& one : xattrs) {
      if (one.name.starts_with("user."))
        ::fsetxattr(pending.fd(), one.name.c_str(), one.value.data(), one.value.size(), 0);
    }
    mode_t mode = info.st_mode & 07777;
    // The owner first: a change of owner clears setuid bits. A file that becomes another's keeps
    // none.
    if (::fchown(pending.fd(), info.st_uid, info.st_gid) != 0) mode &= 01777;
    if (::fchmod(pending.fd(), mode) != 0) return file_error(errno, shown);
    CAY_CHECK(check_unchanged(dir, name, info, shown));
    return pending.commit(name, shown);
  }

  // A program may have written to it, or put another file in its place, since it was read.
  static Result<void> check_unchanged(int dir, const std::string& name, const struct stat& read,
                                      const std::string& shown) {
    struct stat now{};
    if (::fstatat(dir, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0)
      return file_error(errno, shown);
    const bool same = now.st_dev == read.st_dev && now.st_ino == read.st_ino &&
                      now.st_size == read.st_size && now.st_mtim.tv_sec == read.st_mtim.tv_sec &&
                      now.st_mtim.tv_nsec == read.st_mtim.tv_nsec;
    if (same) return {};
    return Error{Code::kConflict, "file_changing",
                 shown + ": was changed while its text was replaced: retry", 0};
  }

  FileChannel& channel_;
  const wire::FileOp& op_;
  FileWalk& walk_;
  PendingFile* pending_ = nullptr;  // under way
  std::uint32_t reported_ = 0;
  std::uint64_t count_ = 0;  // of the present file
};

}  // namespace

Result<void> replace_in_files(FileChannel& channel, const wire::FileOp& op) {
  const std::string shown = shown_path(op, op.path);
  if (op.pattern.empty()) {
    return Error{Code::kInvalidArgument, "bad_pattern", "the text to replace is empty", 0};
  }
  const bool one_file = op.one_file;
  CAY_TRY(const std::string path,
          one_file ? final_target(op.path, shown) : Result<std::string>(op.path));
  struct stat info{};
  CAY_CHECK(stat_path(AT_FDCWD, path.c_str(), true, info, shown));
  FileWalk walk = FileWalk::of(channel, op);
  Replacement work(channel, op, walk);
  if (one_file || !S_ISDIR(info.st_mode)) {
    CAY_TRY(const UniqueFd file, open_regular(AT_FDCWD, path.c_str(), shown, true, info));
    if (one_file && made_up_by_kernel(file.get())) return not_a_regular_file(shown);
    CAY_TRY(const UniqueFd dir,
            open_path(AT_FDCWD, parent_of(path).c_str(), O_RDONLY | O_DIRECTORY, shown));
    work.replace(dir.get(), base_of(path), shown);
  } else {
    CAY_CHECK(walk.run_files(op, [&](int dir, const std::string& name, const std::string& path) {
      work.replace(dir, name, path);
    }));
  }
  channel.send(wire::Type::kEof, wire::Eof{walk.truncated});
  return {};
}

}  // namespace cay::keeper
