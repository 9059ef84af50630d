#include "launcher/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace cay::launcher {
namespace {

constexpr std::size_t kStack = std::size_t{512} << 10;  // what is not used costs nothing

struct Kind {
  const char* name;
  int flag;
  UniqueFd Namespaces::* at;
};
// In the order in which they are joined: the user namespace gives the right to the others.
constexpr Kind kKinds[] = {{"ns/user", CLONE_NEWUSER, &Namespaces::user},
                           {"ns/mnt", CLONE_NEWNS, &Namespaces::mounts},
                           {"ns/net", CLONE_NEWNET, &Namespaces::network},
                           {"ns/uts", CLONE_NEWUTS, &Namespaces::names},
                           {"ns/ipc", CLONE_NEWIPC, &Namespaces::messages}};

// The work of the process between the caller and its new child. It shares the caller's memory and
// descriptors, and the caller stands still until it has ended.
struct Passage {
  const Namespaces& namespaces;
  std::uint64_t fresh;
  const std::function<void()>& body;
  Result<os::Cloned> made;
};

int pass(void* argument) {
  Passage& passage = *static_cast<Passage*>(argument);
  for (const Kind& kind : kKinds) {
    if (::setns((passage.namespaces.*kind.at).get(), kind.flag) != 0) {
      passage.made = Error::from_errno(errno, std::string("enter ") + kind.name);
      return 1;
    }
  }
  passage.made = os::clone_process(passage.fresh | CLONE_PARENT);
  if (passage.made && passage.made->pid == 0) passage.body();
  return 0;
}

}  // namespace

Result<Namespaces> Namespaces::open(int process) {
  Namespaces all;
  for (const Kind& kind : kKinds) {
    all.*kind.at = UniqueFd(::openat(process, kind.name, O_RDONLY | O_CLOEXEC));
    if (!(all.*kind.at)) return Error::from_errno(errno, std::string("open ") + kind.name);
  }
  return all;
}

Namespaces Namespaces::adopt(std::vector<UniqueFd>& descriptors) {
  Namespaces all;
  for (std::size_t i = 0; i < std::size(kKinds) && i < descriptors.size(); ++i)
    all.*kKinds[i].at = std::move(descriptors[i]);
  return all;
}

std::uint64_t Namespaces::kinds() {
  std::uint64_t all = 0;
  for (const Kind& kind : kKinds) all |= static_cast<std::uint64_t>(kind.flag);
  return all;
}

std::vector<int> Namespaces::descriptors() const {
  std::vector<int> all;
  for (const Kind& kind : kKinds) all.push_back((this->*kind.at).get());
  return all;
}

Result<os::Cloned> clone_inside(const Namespaces& namespaces, std::uint64_t fresh,
                                const std::function<void()>& body) {
  Passage passage{namespaces, fresh, body, Error::from_errno(ESRCH, "enter the namespaces")};
  void* stack = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) return Error::from_errno(errno, "make a stack");
  // A process that lives on in the namespaces must not be one that shares our memory: hence the
  // second clone, which copies it.
  const pid_t between = ::clone(pass, static_cast<char*>(stack) + kStack,
                                CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &passage);
  if (between < 0) passage.made = Error::from_errno(errno, "clone");
  if (between > 0) {
    while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::munmap(stack, kStack);
  return std::move(passage.made);
}

}  // namespace cay::launcher
