#include "runtime/native/spool_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace cay::runtime {

Result<UniqueFd> open_kept(int dir, const char* name) {
  UniqueFd fd(::openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd)
    return Error::from_errno(errno, std::string("open the spool's ") + name, "spool_unreadable");
  struct stat facts{};
  struct stat around{};
  if (::fstat(fd.get(), &facts) != 0 || ::fstat(dir, &around) != 0) {
    return Error::from_errno(errno, std::string("stat the spool's ") + name, "spool_unreadable");
  }
  if (!S_ISREG(facts.st_mode) || facts.st_nlink != 1 || facts.st_uid != around.st_uid) {
    return Error{Code::kLost, "spool_damaged",
                 std::string("the spool's ") + name + " is not what a keeper makes", 0};
  }
  return fd;
}

Result<UniqueFd> open_directory(int at, const std::string& name) {
  UniqueFd fd(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd)
    return Error::from_errno(errno, "open the spool " + name.substr(name.rfind('/') + 1),
                             "spool_unreadable");
  return fd;
}

Result<UniqueFd> open_spool(const std::string& spool, const SandboxId& id) {
  if (!is_uuid(id.get()))
    return Error{Code::kInvalidArgument, "bad_id", "a sandbox id is a UUID", 0};
  auto fd = open_directory(AT_FDCWD, spool + "/" + id.get());
  if (!fd && fd.error().os_errno == ENOENT) return UniqueFd();
  return fd;
}

bool is_out_of_breath(const Error& error) {
  return error.os_errno == EMFILE || error.os_errno == ENFILE || error.os_errno == ENOMEM;
}

}  // namespace cay::runtime
