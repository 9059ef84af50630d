#include "purge.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "broker_process.h"
#include "gate_process.h"
#include "images_process.h"
#include "launcher_process.h"
#include "os/cgroup_layout.h"
#include "os/cgroup_procs.h"
#include "os/file.h"

namespace cay::app {
namespace {

namespace fs = std::filesystem;
constexpr auto kEndLimit = std::chrono::seconds(30);
constexpr int kPauseMicros = 20'000;

Result<std::string> instance_in(const std::string& data) {
  auto text = os::read_file(AT_FDCWD, data + "/instance", 64);
  if (!text && text.error().os_errno != ENOENT) return std::move(text).error();
  std::string id = text ? text->substr(0, text->find('\n')) : std::string();
  if (!id.empty() && id.find_first_not_of("0123456789abcdef") == std::string::npos) return id;
  return Error{Code::kInvalidArgument, "bad_data_dir",
               data + " has no instance file: it is no data directory of Cay's", 0};
}

// Returns true if no start got further in `data` than to make it and its `run`, as where a unit
// never came up. Such a directory is removed by rmdir alone, which removes nothing that anybody put
// there.
bool never_begun(const std::string& data) {
  const auto empty = [](const fs::path& path) {
    std::error_code failed;
    return fs::is_directory(fs::symlink_status(path, failed)) && fs::is_empty(path, failed) &&
           !failed;
  };
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(data, failed)) {
    if (entry.path().filename() != "run" || !empty(entry.path())) return false;
  }
  return !failed;
}

Result<void> remove_never_begun(const std::string& data) {
  if (::rmdir((data + "/run").c_str()) != 0 && errno != ENOENT)
    return Error::from_errno(errno, "remove " + data + "/run");
  if (::rmdir(data.c_str()) != 0 && errno != EBUSY /* a volume of its own */)
    return Error::from_errno(errno, "remove " + data);
  return {};
}

Result<void> refuse_while_served(const std::string& data) {
  const UniqueFd lock(::open((data + "/lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return Error{Code::kConflict, "daemon_runs", "a daemon serves " + data + ": end it first", 0};
}

// The instance's top groups: at the root of each hierarchy, or in the unit that holds them.
std::vector<fs::path> groups_of(const std::string& instance) {
  std::vector<fs::path> found;
  auto mountinfo = os::read_file(AT_FDCWD, "/proc/self/mountinfo", 4 << 20);
  if (!mountinfo) return found;
  const os::CgroupLayout layout = os::cgroup_layout_of(*mountinfo);
  for (const std::string& mount :
       std::set<std::string>{layout.v2, layout.memory, layout.cpu, layout.cpuacct, layout.pids}) {
    if (mount.empty()) continue;
    for (const char* parent : {"", "/cay.slice/cay-sandboxes.service"}) {
      fs::path group = mount + parent + "/cay-" + instance;
      std::error_code none;
      if (fs::is_directory(group, none)) found.push_back(std::move(group));
    }
  }
  return found;
}

// True when nothing is left. Groups can only be removed from the leaves up, once their processes
// are gone.
bool remove_group(const fs::path& group) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(group, failed)) {
    if (entry.is_directory(failed) && !entry.is_symlink(failed)) remove_group(entry.path());
  }
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

// Also kills processes that are in no v2 group of Cay, such as a child of the launcher that is
// about to end with it. The v1 groups have no cgroup.kill, and before Linux 5.14 the v2 groups have
// none.
void kill_group(const fs::path& group) {
  if (os::write_file(AT_FDCWD, group / "cgroup.kill", "1")) return;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(group, failed)) {
    if (entry.is_directory(failed) && !entry.is_symlink(failed)) kill_group(entry.path());
  }
  const auto open = os::open_dir(AT_FDCWD, group);
  if (open) os::kill_members(open->get());
}

Result<void> end_sandboxes(const std::string& instance) {
  const auto end = std::chrono::steady_clock::now() + kEndLimit;
  for (;;) {
    bool gone = true;
    for (const fs::path& group : groups_of(instance)) {
      kill_group(group);
      gone = remove_group(group) && gone;
    }
    if (gone) return {};
    if (std::chrono::steady_clock::now() > end) {
      return Error{Code::kDeadlineExceeded, "end_takes_long",
                   "the kernel still holds processes of sandboxes: try again", 0};
    }
    ::usleep(kPauseMicros);
  }
}

// Whether another instance lives on this host: what is in /run/cay, it goes by.
bool others_live() {
  auto pids = os::open_dir(AT_FDCWD, "/proc");
  const auto names =
      pids ? os::list_dir(pids->get()) : Result<std::vector<std::string>>(std::move(pids).error());
  if (!names) return true;
  for (const std::string& name : *names) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = os::read_file(pids->get(), name + "/stat");
    if (!stat) continue;  // it has ended
    const auto begin = stat->find('('), end = stat->rfind(')');
    if (begin == std::string::npos || end == std::string::npos || end + 2 >= stat->size())
      return true;
    const std::string comm = stat->substr(begin + 1, end - begin - 1);
    const char state = stat->at(end + 2);
    if ((comm.starts_with("cay-launcher") || comm == "cay-keeper") && state != 'Z' && state != 'X')
      return true;
  }
  return false;
}

// The locks of uid ranges (launcher/slots.h) and the empty directory that keepers sit in: shared by
// all instances.
Result<void> remove_runtime_dir() {
  const UniqueFd locks(::open("/run/cay/slots/locks", O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock whole{};
  whole.l_type = F_WRLCK;  // every slot's: nobody holds one, and nobody takes one meanwhile
  whole.l_whence = SEEK_SET;
  if (locks && ::fcntl(locks.get(), F_OFD_SETLK, &whole) != 0) return {};
  if (others_live()) return {};
  return os::remove_tree(AT_FDCWD, "/run/cay");
}

}  // namespace

Result<void> purge(const std::string& wanted) {
  char real[PATH_MAX];
  if (::realpath(wanted.c_str(), real) == nullptr) {
    if (errno == ENOENT) return remove_runtime_dir();
    return Error::from_errno(errno, "find " + wanted);
  }
  const std::string data = real;
  if (never_begun(data)) {
    CAY_CHECK(remove_never_begun(data));
    return remove_runtime_dir();
  }
  CAY_TRY(const std::string instance, instance_in(data));
  CAY_CHECK(refuse_while_served(data));
  auto stopped = stop_launcher(data);
  if (!stopped && stopped.error().code != Code::kNotFound) return std::move(stopped).error();
  CAY_CHECK(stop_role(kGate, data));
  CAY_CHECK(stop_role(kImages, data));
  CAY_CHECK(stop_role(kBroker, data));
  CAY_CHECK(end_sandboxes(instance));
  // The pool's mount was in the namespace of those that just ended; its loop device went with it.
  CAY_CHECK(os::remove_tree(AT_FDCWD, data));
  return remove_runtime_dir();
}

}  // namespace cay::app
