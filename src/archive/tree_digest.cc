#include "archive/tree_digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "base/unique_fd.h"
#include "os/file.h"

namespace cay::archive {
namespace {

constexpr std::size_t kDigestBlock = 256 * 1024;
constexpr std::size_t kMostAttributes = 65536;  // XATTR_LIST_MAX and XATTR_SIZE_MAX
constexpr int kDeepestTree = 4096;

class TreeDigest {
 public:
  Result<void> add_directory(int dir, const std::string& path, int depth) {
    if (depth > kDeepestTree) return Error::from_errno(ELOOP, "read " + path);
    CAY_TRY(auto names, os::list_dir(dir));
    std::ranges::sort(names);
    for (const std::string& name : names) {
      CAY_CHECK(add(dir, name, path + "/" + name, depth));
    }
    return {};
  }
  // Attributes and mode of the open directory itself.
  Result<void> add_root(int dir) {
    struct stat info{};
    if (::fstat(dir, &info) != 0) return Error::from_errno(errno, "look at the tree");
    note_facts(".", info);
    return add_attributes("/proc/self/fd/" + std::to_string(dir) + "/.");
  }
  std::string hex() const { return sha256_hex(state_); }

 private:
  void note(std::string_view bytes) {
    std::string next = state_;
    next += std::to_string(bytes.size()) + ":";
    next += bytes;
    state_ = sha256(next);
  }

  void note_facts(std::string_view path, const struct stat& info) {
    std::string facts(path);
    facts += '\0' + std::to_string(info.st_mode) + " " + std::to_string(info.st_uid) + " " +
             std::to_string(info.st_gid);
    if (S_ISREG(info.st_mode)) facts += " " + std::to_string(info.st_size);
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
      facts +=
          " " + std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev));
    note(facts);
  }

  Result<void> add(int dir, const std::string& name, const std::string& path, int depth) {
    struct stat info{};
    if (::fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return Error::from_errno(errno, "look at " + path);
    if (S_ISSOCK(info.st_mode)) return {};
    if (!S_ISDIR(info.st_mode) && info.st_nlink > 1) {
      const auto [first, fresh] = linked_.emplace(info.st_ino, path);
      if (!fresh) {
        note("link " + path + '\0' + first->second);
        return {};
      }
    }
    note_facts(path, info);
    CAY_CHECK(add_attributes("/proc/self/fd/" + std::to_string(dir) + "/" + name));
    if (S_ISLNK(info.st_mode)) return add_target(dir, name, path);
    if (S_ISREG(info.st_mode)) return add_content(dir, name, path);
    if (!S_ISDIR(info.st_mode)) return {};
    CAY_TRY(const UniqueFd inner, os::open_dir(dir, name));
    return add_directory(inner.get(), path, depth + 1);
  }

  Result<void> add_target(int dir, const std::string& name, const std::string& path) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(dir, name.c_str(), target.data(), target.size());
    if (size < 0) return Error::from_errno(errno, "read the link " + path);
    note({target.data(), static_cast<std::size_t>(size)});
    return {};
  }

  Result<void> add_content(int dir, const std::string& name, const std::string& path) {
    const UniqueFd file(::openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return Error::from_errno(errno, "open " + path);
    std::string block(kDigestBlock, '\0');
    std::size_t held = 0;
    for (;;) {
      const ssize_t got = ::read(file.get(), block.data() + held, block.size() - held);
      if (got < 0) return Error::from_errno(errno, "read " + path);
      held += static_cast<std::size_t>(got);
      if (got > 0 && held < block.size()) continue;
      if (held > 0) note({block.data(), held});
      if (got == 0) return {};
      held = 0;
    }
  }

  Result<void> add_attributes(const std::string& at) {
    std::string names(kMostAttributes, '\0');
    const ssize_t size = ::llistxattr(at.c_str(), names.data(), names.size());
    if (size < 0 && errno == ENOTSUP) return {};
    if (size < 0) return Error::from_errno(errno, "list the attributes of " + at);
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); i = names.find('\0', i) + 1) {
      std::string name = names.c_str() + i;
      if (name.starts_with("user.") || name == "security.capability")
        kept.push_back(std::move(name));
    }
    std::ranges::sort(kept);
    std::string value(kept.empty() ? 0 : kMostAttributes, '\0');
    for (const std::string& name : kept) {
      const ssize_t got = ::lgetxattr(at.c_str(), name.c_str(), value.data(), value.size());
      if (got < 0) return Error::from_errno(errno, "read an attribute of " + at);
      note(name);
      note({value.data(), static_cast<std::size_t>(got)});
    }
    return {};
  }

  std::string state_;
  std::map<ino_t, std::string> linked_;  // files with several names, by the first
};

}  // namespace

Result<std::string> tree_digest(int dir) {
  TreeDigest digest;
  CAY_CHECK(digest.add_root(dir));
  CAY_CHECK(digest.add_directory(dir, ".", 0));
  return digest.hex();
}

}  // namespace cay::archive
