#include "client/tar_unpack.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "archive/tar_reader.h"
#include "base/sparse_file.h"
#include "base/unique_fd.h"
#include "client/left_out.h"
#include "client/new_file.h"

namespace cay::client {
namespace {

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

void leave_out_named(sdk::CopyReport& report, const std::string& path) {
  const bool too_deep = parts_of(path).refused == kTooDeep;
  leave_out(report, path, too_deep ? kTooDeep : kNoFile);
}

Error broken(const archive::TarReader& tar) {
  if (tar.input_error()) return *tar.input_error();
  return {Code::kInvalidArgument, "bad_archive",
          "the archive is damaged or cut short: " + tar.why(), 0};
}

class Unpacker {
 public:
  Unpacker(UniqueFd root, const UnpackOptions& options)
      : root_(std::move(root)), options_(options) {}

  Result<sdk::CopyReport> run(archive::TarReader& tar) {
    while (true) {
      const archive::TarReader::Step got = tar.next();
      if (got == archive::TarReader::Step::kEnd) break;
      if (got == archive::TarReader::Step::kFailed) return broken(tar);
      if (++entries_ > options_.max_entries) {
        return Error{Code::kExhausted, "too_many_entries", "the archive has too many entries", 0};
      }
      CAY_CHECK(add(tar, tar.entry()));
      if (options_.progress) options_.progress(report_.moved);
    }
    CAY_CHECK(finish_directories());
    return std::move(report_);
  }

 private:
  using Kind = archive::TarEntry::Kind;

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

  Result<void> add(archive::TarReader& tar, const archive::TarEntry& entry) {
    const auto named = entry.name();
    if (!named)
      return Error{Code::kInvalidArgument, "bad_archive", "what came has an entry without a name",
                   0};
    const std::string& name = *named;
    if (const auto left_out = entry.left_out()) {
      leave_out_named(report_, *left_out);
      return {};
    }
    const auto [parts, refused] = parts_of(name);
    if (refused != nullptr) {
      skip(name, refused);
      return {};
    }
    if (parts.empty()) return {};  // the root itself: the target stays as it is
    if (entry.is_hard_link()) {
      skip(name, "hard links are not made");
      return {};
    }
    if (entry.kind() == Kind::kOther) {
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
    if (entry.kind() == Kind::kDirectory) return add_directory(parent->get(), base, name, entry);
    if (entry.kind() == Kind::kSymlink) return add_link(parent->get(), base, name, entry);
    return add_file(tar, parent->get(), base, name, entry);
  }

  Result<void> add_directory(int parent, const std::string& base, const std::string& name,
                             const archive::TarEntry& entry) {
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
    directories_.push_back({name, entry.mode() & 0777});
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
                        const archive::TarEntry& entry) {
    const std::string to = entry.link_target();
    if (options_.links == Links::kInsideOnly && !link_stays_inside(name, to)) {
      skip(name, "a link out of the tree, to " + short_path(to));
      return {};
    }
    CAY_CHECK(clear_the_way(parent, base, name));
    if (::symlinkat(to.c_str(), parent, base.c_str()) != 0) return Error::from_errno(errno, name);
    ++report_.moved.files;
    return {};
  }

  Result<void> add_file(archive::TarReader& tar, int parent, const std::string& base,
                        const std::string& name, const archive::TarEntry& entry) {
    const std::int64_t size = entry.size();
    if (size < 0)
      return Error{Code::kInvalidArgument, "bad_archive", name + " has a negative size", 0};
    const auto wanted = static_cast<std::uint64_t>(size);
    if (wanted > options_.max_bytes - announced_) return copy_too_large(name, options_.max_bytes);
    announced_ += wanted;
    struct stat old{};
    if (::fstatat(parent, base.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(old.st_mode))
      return is_a_directory(name);
    CAY_TRY(NewFile file, NewFile::create(parent, name));
    SparseFile content(file.fd());
    while (true) {
      archive::TarReader::Block block;
      const archive::TarReader::Step got = tar.block(block);
      if (got == archive::TarReader::Step::kEnd) break;
      if (got == archive::TarReader::Step::kFailed) return broken(tar);
      if (const int failed = content.write_at(block.offset, block.bytes); failed != 0)
        return local_error(failed, name);
      report_.moved.bytes += block.bytes.size();
      if (options_.progress) options_.progress(report_.moved);
    }
    if (const int failed = content.finish(wanted); failed != 0) return local_error(failed, name);
    const timespec times[2] = {{0, UTIME_NOW}, {entry.mtime_seconds(), entry.mtime_nanoseconds()}};
    ::futimens(file.fd(), times);  // a wrong time is no reason to fail
    if (::fchmod(file.fd(), entry.mode() & 0777) != 0) return local_error(errno, name);
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

Result<sdk::CopyReport> unpack_tar(const std::string& target, const TarPull& pull,
                                   const UnpackOptions& options) {
  if (::mkdir(target.c_str(), 0755) != 0 && errno != EEXIST)
    return Error::from_errno(errno, target);
  UniqueFd root(::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Error::from_errno(errno, target);
  archive::TarReader tar(pull);
  return Unpacker(std::move(root), options).run(tar);
}

Result<sdk::CopyReport> look_through_tar(const TarPull& pull) {
  sdk::CopyReport report;
  archive::TarReader tar(pull);
  for (;;) {
    const archive::TarReader::Step got = tar.next();
    if (got == archive::TarReader::Step::kEnd) break;
    if (got == archive::TarReader::Step::kFailed) return broken(tar);
    if (const auto left_out = tar.entry().left_out()) leave_out_named(report, *left_out);
  }
  // Padding follows the end mark, and is part of the stream.
  for (;;) {
    CAY_TRY(const std::string rest, pull());
    if (rest.empty()) return report;
  }
}

}  // namespace cay::client
