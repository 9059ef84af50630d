#include "local_audit.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <limits>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "codec/time.h"
#include "server/line_file.h"

namespace cay::app {
namespace {

std::string name_of(uid_t uid) {
  const passwd* known = ::getpwuid(uid);
  return known != nullptr ? known->pw_name : std::to_string(uid);
}

// Returns the login name, whatever user sudo has made since. The kernel keeps it. Empty: no login.
std::string login_name() {
  std::uint32_t uid = std::numeric_limits<std::uint32_t>::max();
  std::ifstream("/proc/self/loginuid") >> uid;
  return uid == std::numeric_limits<std::uint32_t>::max() ? std::string() : name_of(uid);
}

// Or root's would be a file that the daemon cannot open.
Result<void> make_for_owner(const std::string& dir, const std::string& path) {
  struct stat of{};
  if (::stat(dir.c_str(), &of) != 0) return Error::from_errno(errno, "look at " + dir);
  const UniqueFd made(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made && errno == EEXIST) return {};
  if (!made || (::geteuid() == 0 && ::fchown(made.get(), of.st_uid, of.st_gid) != 0))
    return Error::from_errno(errno, "make " + path);
  return {};
}

}  // namespace

Result<void> note_locally(const std::string& data_dir, codec::json::object what) {
  codec::json::object line{{"at", codec::rfc3339(system_clock().wall())},
                           {"local_user", name_of(::getuid())}};
  if (const std::string login = login_name(); !login.empty()) line["login"] = login;
  for (auto& [name, value] : what) line[name] = value;
  for (const char* name : {"/audit.log", "/audit-changes.log"}) {
    const std::string path = data_dir + name;
    CAY_CHECK(make_for_owner(data_dir, path));
    CAY_TRY(auto file,
            server::LineFile::open(path, {.bytes = std::numeric_limits<std::uint64_t>::max()}));
    CAY_CHECK(file.append(codec::write(line)));
  }
  return {};
}

}  // namespace cay::app
