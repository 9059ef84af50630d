#include "archive/tree_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "archive/tar_reader.h"
#include "base/unique_fd.h"
#include "os/file.h"

namespace cay::archive {
namespace {

constexpr std::size_t kBlock = 128 * 1024;
constexpr std::size_t kMaxSmall = 64u << 20;

Error failed(const std::string& what, const std::string& why, int os_errno) {
  return {Code::kInternal, "archive_failed", what + ": " + why, os_errno};
}

Error failed(const std::string& what, ::archive* at) {
  const char* why = archive_error_string(at);
  return failed(what, why != nullptr ? why : "unknown failure", archive_errno(at));
}

Error failed(const std::string& what, const Error& of_writer) {
  return failed(what, of_writer.message, of_writer.os_errno);
}

// A backup that cannot be read to its end: a copy that was broken off, mostly.
Error torn(const std::string& what, const TarReader& at) {
  return {Code::kInvalidArgument, "backup_incomplete",
          "the backup is incomplete or damaged (" + what + ": " + at.why() +
              "): restore from a whole copy of it",
          at.os_errno()};
}

struct FreeRead {
  void operator()(::archive* it) const { archive_read_free(it); }
  void operator()(::archive_entry* it) const { archive_entry_free(it); }
};
struct FreeWrite {
  void operator()(::archive* it) const { archive_write_free(it); }
};
using DiskReader = std::unique_ptr<::archive, FreeRead>;
using Entry = std::unique_ptr<::archive_entry, FreeRead>;
using DiskWriter = std::unique_ptr<::archive, FreeWrite>;

// Names are bytes; libarchive wants a locale in which most of them are text.
void use_utf8() { ::setlocale(LC_CTYPE, "C.UTF-8"); }

// A guest's name on the operator's terminal: nothing but printable ASCII.
std::string shown(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = c >= 0x20 && c < 0x7f;
    constexpr const char* kHex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    out += plain ? std::string(1, c) : std::string("\\x") + kHex[byte >> 4] + kHex[byte & 15];
  }
  return out;
}

// Writes the file's bytes, holes as zeros: the format leaves them out by the entry's own map of
// holes.
Result<void> copy_data(::archive* from, TarWriter& to, const std::string& name) {
  static const std::array<char, kBlock> kZeros{};
  const void* block = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0, written = 0;
  // Returns false if the entry is full: the file grew meanwhile, and the archive holds what was
  // announced.
  const auto put = [&](std::string_view bytes) -> Result<bool> {
    auto took = to.write(bytes);
    if (!took) return failed("write " + shown(name), took.error());
    written += static_cast<la_int64_t>(*took);
    return *took == bytes.size();
  };
  for (;;) {
    const int code = archive_read_data_block(from, &block, &size, &offset);
    if (code == ARCHIVE_EOF) return {};
    if (code < ARCHIVE_WARN) return failed("read " + shown(name), from);
    while (written < offset) {
      const auto hole =
          std::min<std::size_t>(kZeros.size(), static_cast<std::size_t>(offset - written));
      CAY_TRY(const bool has_room, put({kZeros.data(), hole}));
      if (!has_room) return {};
    }
    CAY_TRY(const bool has_room, put({static_cast<const char*>(block), size}));
    if (!has_room) return {};
  }
}

}  // namespace

void TreeWriter::Free::operator()(::archive_entry_linkresolver* it) const {
  archive_entry_linkresolver_free(it);
}

Result<TreeWriter> TreeWriter::create(int fd) {
  use_utf8();
  TreeWriter writer;
  auto out = TarWriter::into_file(fd);
  if (!out) return failed("begin the archive", out.error());
  writer.out_ = *std::move(out);
  return writer;
}

Result<void> TreeWriter::begin_plain(const std::string& name, std::int64_t size) {
  TarHeader header;
  header.name = name;
  header.mode = 0600;
  header.size = static_cast<std::uint64_t>(size);
  if (const auto begun = out_->add(header); !begun)
    return failed("write " + shown(name), begun.error());
  return {};
}

// The entry has room for all of it.
Result<void> TreeWriter::put_bytes(const std::string& name, std::string_view bytes) {
  const auto took = out_->write(bytes);
  if (!took) return failed("write " + shown(name), took.error());
  return {};
}

Result<void> TreeWriter::add_bytes(const std::string& name, const std::string& bytes) {
  CAY_CHECK(begin_plain(name, static_cast<std::int64_t>(bytes.size())));
  return put_bytes(name, bytes);
}

Result<void> TreeWriter::add_content(int fd, const std::string& name) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return Error::from_errno(errno, "look at " + shown(name));
  CAY_CHECK(begin_plain(name, found.st_size));
  std::vector<char> buffer(kBlock);
  for (off_t at = 0; at < found.st_size;) {
    const auto wanted = std::min<off_t>(static_cast<off_t>(buffer.size()), found.st_size - at);
    const ssize_t got = ::pread(fd, buffer.data(), static_cast<std::size_t>(wanted), at);
    if (got < 0) return Error::from_errno(errno, "read " + shown(name));
    if (got == 0)
      return Error{Code::kInternal, "archive_failed", shown(name) + " was cut while it was read",
                   0};
    CAY_CHECK(put_bytes(name, {buffer.data(), static_cast<std::size_t>(got)}));
    at += got;
  }
  return {};
}

Result<void> TreeWriter::put(::archive* from, ::archive_entry* entry) {
  const std::string name = archive_entry_pathname(entry);
  if (const auto begun = out_->add(entry); !begun)
    return failed("write " + shown(name), begun.error());
  if (archive_entry_size(entry) <= 0) return {};
  return copy_data(from, *out_, name);
}

Result<void> TreeWriter::add_tree(int dir, const std::string& name) {
  const std::string root = "/proc/self/fd/" + std::to_string(dir) + "/.";
  const DiskReader disk(archive_read_disk_new());
  archive_read_disk_set_symlink_physical(disk.get());
  archive_read_disk_set_behavior(disk.get(),
                                 ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS | ARCHIVE_READDISK_NO_FFLAGS);
  if (archive_read_disk_open(disk.get(), root.c_str()) != ARCHIVE_OK)
    return failed("read " + shown(name), disk.get());
  links_.reset(archive_entry_linkresolver_new());  // inode numbers mean something in one tree only
  archive_entry_linkresolver_set_strategy(links_.get(), ARCHIVE_FORMAT_TAR_PAX_RESTRICTED);
  for (;;) {
    const Entry owned(archive_entry_new());
    ::archive_entry* entry = owned.get();
    const int code = archive_read_next_header2(disk.get(), entry);
    if (code == ARCHIVE_EOF) return {};
    // An entry that cannot be looked at has no name.
    const char* known = archive_entry_pathname(entry);
    std::string path = known != nullptr ? known : root;
    path = name + path.substr(std::min(path.size(), root.size()));
    if (code < ARCHIVE_WARN) return failed("read " + shown(path), disk.get());
    if (code == ARCHIVE_WARN)
      warnings_.push_back(shown(path) + ": " + archive_error_string(disk.get()));
    archive_read_disk_descend(disk.get());
    archive_entry_copy_pathname(entry, path.c_str());
    // A socket is nothing without its process.
    if (archive_entry_filetype(entry) == AE_IFSOCK) continue;
    ::archive_entry* spare = nullptr;
    archive_entry_linkify(links_.get(), &entry, &spare);
    CAY_CHECK(put(disk.get(), entry));
  }
}

namespace {

struct OpenFile {
  std::string name;
  UniqueFd fd;
};

// Holds `name` in `dir` and all below it open; false if a part of it has gone.
Result<bool> hold_open(int dir, const std::string& name, const std::string& shown_as,
                       std::vector<OpenFile>& out) {
  UniqueFd fd(::openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return false;
  if (!fd && (errno == ELOOP || errno == ENXIO))
    return true;  // a link, a socket: nothing that is kept there
  if (!fd) return Error::from_errno(errno, "open " + shown(shown_as));
  struct stat found{};
  if (::fstat(fd.get(), &found) != 0) return Error::from_errno(errno, "look at " + shown(shown_as));
  if (!S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode)) return true;
  const int opened = fd.get();
  out.push_back({shown_as, std::move(fd)});
  if (S_ISREG(found.st_mode)) return true;
  CAY_TRY(const auto below, os::list_dir(opened));
  for (const std::string& one : below) {
    CAY_TRY(const bool whole, hold_open(opened, one, shown_as + "/" + one, out));
    if (!whole) return false;
  }
  return true;
}

}  // namespace

Result<void> TreeWriter::add_changing_tree(int dir, const std::string& name) {
  CAY_CHECK(add_open_file(dir, name));
  CAY_TRY(const auto names, os::list_dir(dir));
  for (const std::string& one : names) {
    std::vector<OpenFile> files;
    CAY_TRY(const bool whole, hold_open(dir, one, name + "/" + one, files));
    if (!whole) continue;
    for (const OpenFile& file : files) {
      CAY_CHECK(add_open_file(file.fd.get(), file.name));
    }
  }
  return {};
}

// Adds the open file by its descriptor, so that a removal of its name changes nothing. A file that
// grows is added with its first size.
Result<void> TreeWriter::add_open_file(int fd, const std::string& name) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return Error::from_errno(errno, "look at " + shown(name));
  const DiskReader disk(archive_read_disk_new());
  archive_read_disk_set_behavior(disk.get(), ARCHIVE_READDISK_NO_FFLAGS);
  const Entry entry(archive_entry_new());
  archive_entry_copy_pathname(entry.get(), name.c_str());
  archive_entry_copy_sourcepath(entry.get(), ("/proc/self/fd/" + std::to_string(fd)).c_str());
  if (archive_read_disk_entry_from_file(disk.get(), entry.get(), fd, &found) < ARCHIVE_WARN)
    return failed("read " + shown(name), disk.get());
  if (const auto begun = out_->add(entry.get()); !begun)
    return failed("write " + shown(name), begun.error());
  if (!S_ISREG(found.st_mode)) return {};
  std::vector<char> buffer(kBlock);
  for (off_t at = 0; at < found.st_size;) {
    const auto wanted = std::min<off_t>(static_cast<off_t>(buffer.size()), found.st_size - at);
    const ssize_t got = ::pread(fd, buffer.data(), static_cast<std::size_t>(wanted), at);
    if (got < 0) return Error::from_errno(errno, "read " + shown(name));
    if (got == 0) return {};  // it was cut meanwhile: the rest is zeros
    CAY_CHECK(put_bytes(name, {buffer.data(), static_cast<std::size_t>(got)}));
    at += got;
  }
  return {};
}

Result<void> TreeWriter::close() {
  if (const auto closed = out_->close(); !closed) return failed("end the archive", closed.error());
  return {};
}

namespace {

// Writes below one directory at a time: it is made the working directory, and every name is
// relative.
class Extractor {
 public:
  Result<void> enter(int dir, const std::string& which) {
    if (disk_ && which == which_) return {};
    CAY_CHECK(leave());
    if (::fchdir(dir) != 0) return Error::from_errno(errno, "enter the directory to restore into");
    disk_.reset(archive_write_disk_new());
    archive_write_disk_set_options(
        disk_.get(), ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                         ARCHIVE_EXTRACT_XATTR | ARCHIVE_EXTRACT_ACL | ARCHIVE_EXTRACT_UNLINK |
                         ARCHIVE_EXTRACT_SPARSE | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                         ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
    which_ = which;
    return {};
  }
  // Directories get their times and modes now.
  Result<void> leave() {
    if (!disk_) return {};
    if (archive_write_close(disk_.get()) != ARCHIVE_OK) return failed("restore", disk_.get());
    disk_.reset();
    return {};
  }
  Result<void> put(TarReader& from, ::archive_entry* entry) {
    const std::string name = archive_entry_pathname(entry);
    if (archive_write_header(disk_.get(), entry) != ARCHIVE_OK)
      return failed("restore " + shown(name), disk_.get());
    if (archive_entry_size(entry) > 0) {
      for (;;) {
        TarReader::Block block;
        const TarReader::Step got = from.block(block);
        if (got == TarReader::Step::kEnd) break;
        if (got != TarReader::Step::kDone) return torn("read " + shown(name), from);
        if (archive_write_data_block(disk_.get(), block.bytes.data(), block.bytes.size(),
                                     static_cast<la_int64_t>(block.offset)) < ARCHIVE_OK)
          return failed("restore " + shown(name), disk_.get());
      }
    }
    if (archive_write_finish_entry(disk_.get()) != ARCHIVE_OK)
      return failed("restore " + shown(name), disk_.get());
    return {};
  }

 private:
  DiskWriter disk_;
  std::string which_;
};

// Comes back to where this process was, also where an extraction is broken off: the caller's paths
// may be relative.
class WorkingDirectory {
 public:
  WorkingDirectory() : before_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
  ~WorkingDirectory() {
    if (before_) (void)!::fchdir(before_.get());
  }
  WorkingDirectory(const WorkingDirectory&) = delete;

 private:
  UniqueFd before_;
};

Result<std::string> all_of(TarReader& from, const std::string& name) {
  std::string bytes;
  for (;;) {
    TarReader::Block block;
    const TarReader::Step got = from.block(block);
    if (got == TarReader::Step::kEnd) return bytes;
    if (got != TarReader::Step::kDone) return torn("read " + shown(name), from);
    if (block.offset + block.bytes.size() > kMaxSmall)
      return Error{Code::kInvalidArgument, "not_a_backup", name + " is too large for what it is",
                   0};
    bytes.resize(block.offset);  // over a hole
    bytes += block.bytes;
  }
}

}  // namespace

Result<std::pair<std::string, std::string>> first_of_tar(int fd) {
  use_utf8();
  TarReader in(fd);
  const TarReader::Step got = in.next();
  if (got == TarReader::Step::kEnd)
    return Error{Code::kInvalidArgument, "not_a_backup", "it is empty", 0};
  if (got == TarReader::Step::kFailed) return failed("read the backup", in.why(), in.os_errno());
  std::string name = in.entry().name().value_or("");
  CAY_TRY(std::string bytes, all_of(in, name));
  return std::pair(std::move(name), std::move(bytes));
}

Result<void> extract_tar(
    int fd, const std::function<Result<TarPlace>(const std::string& name)>& place,
    const std::function<Result<void>(const std::string& name, std::string bytes)>& small) {
  const WorkingDirectory before;
  use_utf8();
  TarReader in(fd);
  Extractor extractor;
  for (;;) {
    const TarReader::Step got = in.next();
    if (got == TarReader::Step::kEnd) break;
    if (got == TarReader::Step::kFailed) return torn("read on", in);
    ::archive_entry* entry = in.entry().raw();
    const std::string name = in.entry().name().value_or("");
    CAY_TRY(const TarPlace to, place(name));
    if (to.dir < 0) {
      if (archive_entry_filetype(entry) != AE_IFREG) continue;
      CAY_TRY(std::string bytes, all_of(in, name));
      CAY_CHECK(small(name, std::move(bytes)));
      continue;
    }
    CAY_CHECK(extractor.enter(to.dir, to.which));
    if (const char* link = archive_entry_hardlink(entry); link != nullptr) {
      CAY_TRY(const TarPlace target, place(link));
      archive_entry_copy_hardlink(entry, target.name.c_str());
    }
    archive_entry_copy_pathname(entry, to.name.empty() ? "." : to.name.c_str());
    if (to.gid >= 0) archive_entry_set_gid(entry, to.gid);
    CAY_CHECK(extractor.put(in, entry));
  }
  return extractor.leave();
}

}  // namespace cay::archive
