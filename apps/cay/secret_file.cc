#include "secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/unique_fd.h"

namespace cay::app {

Result<std::string> read_secret_file(const std::string& setting, const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return Error::from_errno(errno, "open " + path).while_doing(setting);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return Error::from_errno(errno, "look at " + path);
  const auto wrong = [&](const std::string& why) {
    return Error{Code::kInvalidArgument, "bad_config", setting + " " + path + " " + why, 0};
  };
  constexpr mode_t kOthers = 07;
  if (!S_ISREG(info.st_mode)) return wrong("is no file");
  if ((info.st_mode & kOthers) != 0)
    return wrong(
        "can be read or written by everybody: let only the daemon's user read it (chown root:cay, "
        "chmod 640)");
  std::array<char, 4096> piece{};
  const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
  if (got < 0) return Error::from_errno(errno, "read " + path);
  std::string text(piece.data(), static_cast<std::size_t>(got));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) return wrong("is empty");
  return text;
}

}  // namespace cay::app
