#include "store/data_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace cay::store {

Result<DataLock> DataLock::take(const std::string& data_dir) {
  const std::string path = data_dir + "/lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::from_errno(errno, "open " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Error::from_errno(errno, "lock " + path);
    return Error{
        Code::kUnavailable, "data_dir_locked",
        "another daemon uses " + data_dir + ": stop it, or give another directory with --data", 0};
  }
  return DataLock(std::move(fd));
}

}  // namespace cay::store
