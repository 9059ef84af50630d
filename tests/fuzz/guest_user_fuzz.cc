// The guest's own /etc/passwd and /etc/group, as the child of the keeper's reads them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "keeper/guest_user.h"

namespace {

// Both are one file, in memory.
struct Scratch {
  int fd = ::memfd_create("users", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(fd);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = in.find('\n');
  const std::string user_asked(in.substr(0, std::min<std::size_t>(cut, 100)));
  const std::string_view rest =
      cut == std::string_view::npos ? std::string_view() : in.substr(cut + 1);
  if (::ftruncate(scratch.fd, 0) != 0 ||
      ::pwrite(scratch.fd, rest.data(), rest.size(), 0) != static_cast<ssize_t>(rest.size()))
    std::abort();
  cay::keeper::GuestUser user;
  if (!cay::keeper::resolve_user(user_asked.c_str(), user, scratch.path.c_str(),
                                 scratch.path.c_str()))
    return 0;
  if (user.group_count < 1 || user.group_count > cay::keeper::kMaxGroups ||
      user.groups[0] != user.gid)
    std::abort();
  if (user.home[0] != '/' || user.shell[0] != '/') std::abort();
  if (::memchr(user.name, 0, sizeof user.name) == nullptr ||
      ::memchr(user.home, 0, sizeof user.home) == nullptr)
    std::abort();
  // Nobody becomes root by a line of another's.
  if (user.uid == 0 && rest.find(":0:") == std::string_view::npos &&
      rest.find(":00") == std::string_view::npos) {
    const std::string_view name(user.name);
    if (name != "root" && name.find_first_not_of('0') != std::string_view::npos) std::abort();
  }
  return 0;
}
