#include "agent/threads/lease.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace cay::agent {

namespace {

Result<UniqueFd> locked(const std::string& path, std::int64_t number, int how) {
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
  int done = 0;
  do {
    done = ::fcntl(file.get(), how, &range);
  } while (done != 0 && errno == EINTR);
  if (done == 0) return file;
  if (errno == EAGAIN || errno == EACCES) {
    return Error{Code::kNotReady, "thread_busy",
                 "another process runs this thread: wait for its end, or use another thread", 0};
  }
  return Error{Code::kUnavailable, "store_failed", "lock " + path + ": " + std::strerror(errno),
               errno};
}

}  // namespace

Result<Lease> Lease::take(const std::string& path, std::int64_t number) {
  CAY_TRY(auto file, locked(path, number, F_OFD_SETLK));
  return Lease(std::move(file));
}

Result<Lease> Lease::wait(const std::string& path, std::int64_t number) {
  CAY_TRY(auto file, locked(path, number, F_OFD_SETLKW));
  return Lease(std::move(file));
}

}  // namespace cay::agent
