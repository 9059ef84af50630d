#include "client/new_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace cay::client {
namespace {

constexpr int kTries = 8;

// ".cay-" and 96 random bits; empty with errno when there are none.
std::string hidden_name() {
  unsigned char random[12];
  if (::getrandom(random, sizeof random, 0) != ssize_t{sizeof random}) return {};
  std::string name = ".cay-";
  for (const unsigned char byte : random) {
    constexpr char kHex[] = "0123456789abcdef";
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

std::string proc_name(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Result<NewFile> NewFile::create(int dir, std::string shown) {
  UniqueFd file(::openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  // Without a /proc there would be no way to name it later.
  if (file && ::access(proc_name(file.get()).c_str(), F_OK) == 0)
    return NewFile(dir, std::move(shown), std::move(file), {});
  return create_hidden(dir, std::move(shown));
}

Result<NewFile> NewFile::create_hidden(int dir, std::string shown) {
  for (int i = 0; i < kTries; ++i) {
    std::string name = hidden_name();
    if (name.empty()) break;
    UniqueFd file(
        ::openat(dir, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file) return NewFile(dir, std::move(shown), std::move(file), std::move(name));
    if (errno != EEXIST) break;
  }
  return local_error(errno, shown);
}

NewFile::~NewFile() {
  if (file_ && !hidden_.empty()) ::unlinkat(dir_, hidden_.c_str(), 0);
}

int NewFile::link_as(const std::string& name) const {
  // Through /proc: AT_EMPTY_PATH needs a capability.
  return ::linkat(AT_FDCWD, proc_name(file_.get()).c_str(), dir_, name.c_str(),
                  AT_SYMLINK_FOLLOW) == 0
             ? 0
             : errno;
}

Result<void> NewFile::commit(const std::string& name) {
  // linkat replaces nothing, so what is to replace gets a hidden name first, and is renamed.
  int failed = hidden_.empty() ? link_as(name) : EEXIST;
  for (int i = 0; i < kTries && failed == EEXIST && hidden_.empty(); ++i) {
    const std::string beside = hidden_name();
    if (beside.empty()) return local_error(errno, shown_);
    failed = link_as(beside);
    if (failed == 0) {
      hidden_ = beside;
      failed = EEXIST;
    }
  }
  if (failed == EEXIST && !hidden_.empty())
    failed = ::renameat(dir_, hidden_.c_str(), dir_, name.c_str()) == 0 ? 0 : errno;
  if (failed == EISDIR) return is_a_directory(shown_);
  if (failed != 0) return local_error(failed, shown_);
  file_.reset();
  return {};
}

Error local_error(int err, const std::string& shown) {
  Error error = Error::from_errno(err, shown, "local_file");
  if (err == ENOSPC || err == EDQUOT) error.message += ": nothing of it was kept";
  return error;
}

Error is_a_directory(const std::string& shown) {
  return {Code::kAlreadyExists, "is_a_directory", shown + " is a directory in the target", 0};
}

Error copy_too_large(const std::string& shown, std::uint64_t most) {
  return {Code::kExhausted, "copy_too_large",
          shown + ": the copy would have more than " + std::to_string(most) +
              " bytes, holes counted: ask for more (--max-size)",
          0};
}

}  // namespace cay::client
