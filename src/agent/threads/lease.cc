#include "agent/threads/lease.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace cay::agent {

Result<Lease> Lease::take(const std::string& path, std::int64_t number) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) {
    return Error{Code::kUnavailable, "store_failed", "open " + path + ": " + std::strerror(errno),
                 errno};
  }
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = number;
  range.l_len = 1;
  if (::fcntl(file.get(), F_OFD_SETLK, &range) == 0) return Lease(std::move(file));
  if (errno == EAGAIN || errno == EACCES) {
    return Error{Code::kNotReady, "thread_busy",
                 "another process runs this thread: wait for its end, or use another thread", 0};
  }
  return Error{Code::kUnavailable, "store_failed", "lock " + path + ": " + std::strerror(errno),
               errno};
}

}  // namespace cay::agent
