#include "client/tar_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "base/sparse_file.h"
#include "base/unique_fd.h"
#include "client/left_out.h"
#include "client/new_file.h"
#include "codec/left_out.h"

namespace cay::client {
namespace {

struct ArchiveFree {
  void operator()(archive* it) const { archive_read_free(it); }
};

struct Feed {
  const TarPull& pull;
  std::string chunk;
  std::optional<Error> failed;
};

la_ssize_t feed(archive* self, void* data, const void** out) {
  auto& from = *static_cast<Feed*>(data);
  auto got = from.pull();
  if (!got) {
    archive_set_error(self, EIO, "%s", got.error().message.c_str());
    from.failed = std::move(got).error();
    return -1;
  }
  from.chunk = *std::move(got);
  *out = from.chunk.data();
  return static_cast<la_ssize_t>(from.chunk.size());
}

constexpr const char* kLeadsOut = "its name leads out of the target";

struct Parts {
  std::vector<std::string> names;
  const char* refused = nullptr;  // why it has no place in the target
};

// "a/./b/" -> {"a","b"}.
Parts parts_of(std::string_view name) {
  if (name.empty() || name.front() == '/') return {{}, kLeadsOut};
  Parts out;
  while (!name.empty()) {
    const auto slash = name.find('/');
    const auto part = name.substr(0, slash);
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return {{}, kLeadsOut};
    if (out.refused != nullptr) continue;
    if (out.names.size() == kMostDepth) out.refused = kTooDeep;
    out.names.emplace_back(part);
  }
  return out;
}

// A name that the daemon left out of the archive. nullopt: an entry like any other.
std::optional<std::string> named_left_out(archive_entry* entry) {
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  archive_entry_xattr_reset(entry);
  while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
    if (std::string_view(name) == codec::kLeftOutAttribute) {
      return std::string(static_cast<const char*>(value), size);
    }
  }
  return std::nullopt;
}

void leave_out_named(sdk::CopyReport& report, const std::string& path) {
  const bool too_deep = parts_of(path).refused == kTooDeep;
  leave_out(report, path, too_deep ? kTooDeep : kNoFile);
}

Error broken(archive* tar, const Feed& from) {
  if (from.failed) return *from.failed;
  const char* why = archive_error_string(tar);
  return {Code::kInvalidArgument, "bad_archive",
          std::string("the archive is damaged or cut short: ") + (why == nullptr ? "unknown" : why),
          0};
}

class Unpacker {
 public:
  Unpacker(UniqueFd root, const UnpackOptions& options)
      : root_(std::move(root)), options_(options) {}

  Result<sdk::CopyReport> run(archive* tar, const Feed& from) {
    while (true) {
      archive_entry* entry = nullptr;
      const int got = archive_read_next_header(tar, &entry);
      if (got == ARCHIVE_EOF) break;
      if (got < ARCHIVE_WARN) return broken(tar, from);
      if (++entries_ > options_.max_entries) {
        return Error{Code::kExhausted, "too_many_entries", "the archive has too many entries", 0};
      }
      CAY_CHECK(add(tar, entry, from));
      if (options_.progress) options_.progress(report_.moved);
    }
    CAY_CHECK(finish_directories());
    return std::move(report_);
  }

 private:
  void skip(const std::string& name, std::string why) { leave_out(report_, name, std::move(why)); }

  // The directory that holds the last part; made where missing, links refused.
  Result<UniqueFd> parent_of(const std::vector<std::string>& parts, const std::string& name) {
    UniqueFd at(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
    if (!at) return Error::from_errno(errno, name);
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      if (::mkdirat(at.get(), parts[i].c_str(), 0755) != 0 && errno != EEXIST)
        return Error::from_errno(errno, name);
      UniqueFd next(
          ::openat(at.get(), parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!next) return Error::from_errno(errno, name);
      at = std::move(next);
    }
    return at;
  }

  Result<void> add(archive* tar, archive_entry* entry, const Feed& from) {
    const char* raw = archive_entry_pathname(entry);
    if (raw == nullptr)
      return Error{Code::kInvalidArgument, "bad_archive", "what came has an entry without a name",
                   0};
    const std::string name = raw;
    if (const auto left_out = named_left_out(entry)) {
      leave_out_named(report_, *left_out);
      return {};
    }
    const auto [parts, refused] = parts_of(name);
    if (refused != nullptr) {
      skip(name, refused);
      return {};
    }
    if (parts.empty()) return {};  // the root itself: the target stays as it is
    if (archive_entry_hardlink(entry) != nullptr) {
      skip(name, "hard links are not made");
      return {};
    }
    const auto type = archive_entry_filetype(entry);
    if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK) {
      skip(name, kNoFile);
      return {};
    }
    auto parent = parent_of(parts, name);
    if (!parent) {
      // A link, or a file, stands where a directory is needed: somebody plays tricks, or the target
      // had something else there.
      if (parent.error().os_errno == ELOOP || parent.error().os_errno == ENOTDIR) {
        skip(name, "a parent of it is not a directory");
        return {};
      }
      return std::move(parent).error();
    }
    const std::string& base = parts.back();
    if (type == AE_IFDIR) return add_directory(parent->get(), base, name, entry);
    if (type == AE_IFLNK) return add_link(parent->get(), base, name, entry);
    return add_file(tar, parent->get(), base, name, entry, from);
  }

  Result<void> add_directory(int parent, const std::string& base, const std::string& name,
                             archive_entry* entry) {
    if (::mkdirat(parent, base.c_str(), 0700) != 0 && errno != EEXIST)
      return Error::from_errno(errno, name);
    UniqueFd made(::openat(parent, base.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made && (errno == ELOOP || errno == ENOTDIR)) {
      skip(name, "something that is no directory is in its place");
      return {};
    }
    if (!made) return Error::from_errno(errno, name);
    ++report_.moved.files;
    // Its mode comes last: a read-only directory could not be filled.
    directories_.push_back({name, archive_entry_perm(entry) & 0777});
    return {};
  }

  Result<void> finish_directories() {
    for (auto it = directories_.rbegin(); it != directories_.rend(); ++it) {
      const auto parts = parts_of(it->name).names;
      CAY_TRY(auto parent, parent_of(parts, it->name));
      constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
      UniqueFd made(::openat(parent.get(), parts.back().c_str(), kFlags));
      if (!made || ::fchmod(made.get(), it->mode) != 0) return Error::from_errno(errno, it->name);
    }
    return {};
  }

  Result<void> clear_the_way(int parent, const std::string& base, const std::string& name) {
    if (::unlinkat(parent, base.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno == EISDIR) return is_a_directory(name);
    return Error::from_errno(errno, name);
  }

  Result<void> add_link(int parent, const std::string& base, const std::string& name,
                        archive_entry* entry) {
    const char* raw = archive_entry_symlink(entry);
    const std::string to = raw == nullptr ? std::string() : raw;
    if (options_.links == Links::kInsideOnly && !link_stays_inside(name, to)) {
      skip(name, "a link out of the tree, to " + short_path(to));
      return {};
    }
    CAY_CHECK(clear_the_way(parent, base, name));
    if (::symlinkat(to.c_str(), parent, base.c_str()) != 0) return Error::from_errno(errno, name);
    ++report_.moved.files;
    return {};
  }

  Result<void> add_file(archive* tar, int parent, const std::string& base, const std::string& name,
                        archive_entry* entry, const Feed& from) {
    const la_int64_t size = archive_entry_size(entry);
    if (size < 0)
      return Error{Code::kInvalidArgument, "bad_archive",
                   name + " says that it has less than no bytes", 0};
    const auto wanted = static_cast<std::uint64_t>(size);
    if (wanted > options_.max_bytes - announced_) return copy_too_large(name, options_.max_bytes);
    announced_ += wanted;
    struct stat old{};
    if (::fstatat(parent, base.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(old.st_mode))
      return is_a_directory(name);
    CAY_TRY(NewFile file, NewFile::create(parent, name));
    SparseFile content(file.fd());
    while (true) {
      const void* bytes = nullptr;
      std::size_t length = 0;
      la_int64_t offset = 0;
      const int got = archive_read_data_block(tar, &bytes, &length, &offset);
      if (got == ARCHIVE_EOF) break;
      if (got < ARCHIVE_WARN) return broken(tar, from);
      const std::string_view piece(static_cast<const char*>(bytes), length);
      if (const int failed = content.write_at(static_cast<std::uint64_t>(offset), piece);
          failed != 0)
        return local_error(failed, name);
      report_.moved.bytes += length;
      if (options_.progress) options_.progress(report_.moved);
    }
    if (const int failed = content.finish(wanted); failed != 0) return local_error(failed, name);
    const timespec times[2] = {{0, UTIME_NOW},
                               {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)}};
    ::futimens(file.fd(), times);  // a wrong time is no reason to fail
    if (::fchmod(file.fd(), archive_entry_perm(entry) & 0777) != 0) return local_error(errno, name);
    CAY_CHECK(file.commit(base));
    ++report_.moved.files;
    return {};
  }

  struct Directory {
    std::string name;
    mode_t mode;
  };
  UniqueFd root_;
  const UnpackOptions& options_;
  sdk::CopyReport report_;
  std::vector<Directory> directories_;
  std::uint64_t entries_ = 0;
  std::uint64_t announced_ = 0;  // bytes, by the entries' own word
};

}  // namespace

bool link_stays_inside(const std::string& name, const std::string& to) {
  if (to.empty() || to.front() == '/') return false;
  const auto at = parts_of(name);
  if (at.refused != nullptr || at.names.empty()) return false;
  std::size_t up = at.names.size() - 1;  // how often ".." may come
  bool down = false;
  std::string_view rest = to;
  while (!rest.empty()) {
    const auto slash = rest.find('/');
    const auto part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      down = true;  // maybe a link, which may lead up itself: a ".." behind it could leave the tree
    } else if (down || up-- == 0) {
      return false;
    }
  }
  return true;
}

namespace {

using Tar = std::unique_ptr<archive, ArchiveFree>;

// `from` outlives it.
Result<Tar> open_tar(Feed& from) {
  Tar tar(archive_read_new());
  if (!tar) throw std::bad_alloc();
  archive_read_support_format_tar(tar.get());
  archive_read_set_options(tar.get(), "hdrcharset=BINARY");
  if (archive_read_open(tar.get(), &from, nullptr, &feed, nullptr) == ARCHIVE_OK) return tar;
  if (from.failed) return *from.failed;
  return Error{Code::kInvalidArgument, "bad_archive", "what came is no tar archive", 0};
}

}  // namespace

Result<sdk::CopyReport> unpack_tar(const std::string& target, const TarPull& pull,
                                   const UnpackOptions& options) {
  if (::mkdir(target.c_str(), 0755) != 0 && errno != EEXIST)
    return Error::from_errno(errno, target);
  UniqueFd root(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Error::from_errno(errno, target);
  Feed from{pull, {}, std::nullopt};
  CAY_TRY(const Tar tar, open_tar(from));
  return Unpacker(std::move(root), options).run(tar.get(), from);
}

Result<sdk::CopyReport> look_through_tar(const TarPull& pull) {
  sdk::CopyReport report;
  Feed from{pull, {}, std::nullopt};
  CAY_TRY(const Tar tar, open_tar(from));
  archive_entry* entry = nullptr;
  for (;;) {
    const int got = archive_read_next_header(tar.get(), &entry);
    if (got == ARCHIVE_EOF) break;
    if (got < ARCHIVE_WARN) return broken(tar.get(), from);
    if (const auto left_out = named_left_out(entry)) leave_out_named(report, *left_out);
  }
  // Padding follows the end mark, and is part of the stream.
  for (;;) {
    CAY_TRY(const std::string rest, pull());
    if (rest.empty()) return report;
  }
}

}  // namespace cay::client
