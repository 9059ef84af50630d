#include "os/exact_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace cay::os {

Result<void> replace_file_exactly(int dir, const std::string& name, std::string_view bytes,
                                  mode_t mode) {
  const std::string fresh = name + ".new";
  ::unlinkat(dir, fresh.c_str(), 0);
  errno = ENOSPC;  // for a write that is cut short, which sets none
  const UniqueFd fd(
      ::openat(dir, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  // The name last: whoever looks meanwhile finds the old file or the new one.
  const bool done =
      fd && ::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      ::fchmod(fd.get(), mode) == 0 && ::renameat(dir, fresh.c_str(), dir, name.c_str()) == 0;
  if (done) return {};
  auto why = Error::from_errno(errno, "write " + name);
  ::unlinkat(dir, fresh.c_str(), 0);
  return why;
}

}  // namespace cay::os
