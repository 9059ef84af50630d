#include "keeper/long_arguments.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cay::keeper {
namespace {

constexpr std::size_t kMaxArgument = 128 * 1024 - 1;  // MAX_ARG_STRLEN of execve(2), less the NUL
constexpr std::size_t kShownArgument = 4 * 1024;
constexpr std::size_t kShownInAll = 16 * 1024;

Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(fd, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return Error::from_errno(errno, "keep a long command line", "start_failed");
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return {};
}

}  // namespace

Result<UniqueFd> put_line_into_file(std::vector<std::string>& argv) {
  std::string& line = argv.back();
  if (line.size() <= kMaxArgument) return UniqueFd();
  UniqueFd file(::memfd_create("command line", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return Error::from_errno(errno, "keep a long command line", "start_failed");
  // The line's programs must not inherit the file. On the line itself, so that line numbers stay.
  CAY_CHECK(write_all(file.get(), "exec " + std::to_string(kLineFd) + "<&-;"));
  CAY_CHECK(write_all(file.get(), line));
  // Readable to any user inside, writable to none.
  if (::fchmod(file.get(), 0444) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) !=
          0) {
    return Error::from_errno(errno, "seal a long command line", "start_failed");
  }
  line = ". /proc/self/fd/" + std::to_string(kLineFd);
  return file;
}

bool shorten(std::vector<std::string>& argv) {
  bool cut = false;
  std::size_t left = kShownInAll;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    std::string& argument = argv[i];
    if (left < sizeof(std::string)) {
      argv.resize(i);
      return true;
    }
    left -= sizeof(std::string);
    const std::size_t most = std::min(kShownArgument, left);
    if (argument.size() > most) {
      argument.resize(most);
      argument.shrink_to_fit();
      cut = true;
    }
    left -= argument.size();
  }
  return cut;
}

}  // namespace cay::keeper
