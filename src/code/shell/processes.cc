#include "code/shell/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "code/shell/system_calls.h"

namespace cay::shell {
namespace {

constexpr std::size_t kMostText = 16'384;  // of a list of children
constexpr int kMostDepth = 64;
constexpr std::size_t kMostStatus = 4096;

template <std::size_t kSize>
void put_proc_path(Buffer<kSize>& to, int pid, Text file) {
  to.put("/proc/");
  to.put_number(static_cast<std::uint64_t>(pid));
  to.put(file);
  to.put('\0');
}

// Returns what follows the first `name` in `all`, or nullptr.
const char* after(Text all, Text name) {
  for (std::size_t at = 0; at + name.size <= all.size; ++at) {
    if (Text{all.data + at, name.size} == name) return all.data + at + name.size;
  }
  return nullptr;
}

// Reads /proc/PID/status. Empty: there is no such process.
Text read_status(int pid, char (&to)[kMostStatus]) {
  Buffer<64> path;
  put_proc_path(path, pid, "/status");
  const long fd = system_call(SYS_openat, AT_FDCWD, address(path.data()), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {to, 0};
  const long size = system_call(SYS_read, fd, address(to), sizeof to);
  system_call(SYS_close, fd);
  return {to, size > 0 ? static_cast<std::size_t>(size) : 0};
}

// Whether both processes execute the same file.
bool has_program_of(int pid, int other) {
  Text programs[2];
  char names[2][1024];
  for (int i = 0; i < 2; ++i) {
    Buffer<64> path;
    put_proc_path(path, i == 0 ? pid : other, "/exe");
    const long size = system_call(SYS_readlinkat, AT_FDCWD, address(path.data()), address(names[i]),
                                  sizeof names[i]);
    if (size <= 0) return false;
    programs[i] = {names[i], static_cast<std::size_t>(size)};
  }
  return programs[0] == programs[1];
}

}  // namespace

bool Children::has(int pid) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (pids[i] == pid) return true;
  }
  return false;
}

void Children::add_of(int parent) {
  Buffer<64> path;
  path.put("/proc/");
  path.put_number(static_cast<std::uint64_t>(parent));
  path.put("/task/");
  path.put_number(static_cast<std::uint64_t>(parent));
  path.put("/children");
  path.put('\0');
  const long fd = system_call(SYS_openat, AT_FDCWD, address(path.data()), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char list[kMostText];
  const long size = system_call(SYS_read, fd, address(list), sizeof list);
  system_call(SYS_close, fd);
  Text rest{list, size > 0 ? static_cast<std::size_t>(size) : 0};
  while (rest.size > 0 && count < kMostChildren) {
    const long long pid = number_from(take_word(rest));
    if (pid > 0) pids[count++] = static_cast<int>(pid);
  }
}

void Children::add_below(int parent, const Children& other, int depth) {
  Children direct;
  direct.add_of(parent);
  for (std::size_t i = 0; i < direct.count && count < kMostChildren; ++i) {
    if (other.has(direct.pids[i])) continue;
    pids[count++] = direct.pids[i];
    if (depth < kMostDepth) add_below(direct.pids[i], other, depth + 1);
  }
}

Interrupt interrupt_of(int pid) {
  char status[kMostStatus];
  const Text all = read_status(pid, status);
  if (all.size == 0 || after(all, "State:\tZ") != nullptr) return Interrupt::kGone;
  const Text masks[] = {"SigBlk:\t", "SigIgn:\t", "SigCgt:\t"};
  for (const Text& name : masks) {
    constexpr std::size_t kLastDigit = 15;  // signals 1 to 4
    const char* const mask = after(all, name);
    if (mask == nullptr || mask + kLastDigit >= all.data + all.size) return Interrupt::kOther;
    const char last = mask[kLastDigit];
    const int digit = last <= '9' ? last - '0' : last - 'a' + 10;
    if ((digit >> (SIGINT - 1) & 1) == 0) continue;
    return &name == &masks[2] ? Interrupt::kHandled : Interrupt::kOther;
  }
  return Interrupt::kEnds;
}

bool is_new_child(int bash, int pid) {
  return interrupt_of(pid) == Interrupt::kHandled && has_program_of(pid, bash);
}

bool has_new_child(int bash, const Children& reached) {
  for (std::size_t i = 0; i < reached.count; ++i) {
    if (is_new_child(bash, reached.pids[i])) return true;
  }
  return false;
}

Stopped::Stopped(int pid) : pid_(pid) {
  constexpr int kMostLooks = 200;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  system_call(SYS_kill, pid_, SIGSTOP);
  for (int i = 0; i < kMostLooks; ++i) {
    char status[kMostStatus];
    const Text all = read_status(pid_, status);
    if (all.size == 0 || after(all, "State:\tT") != nullptr || after(all, "State:\tZ") != nullptr)
      return;
    system_call(SYS_nanosleep, address(&kPause), 0);
  }
}

Stopped::~Stopped() { system_call(SYS_kill, pid_, SIGCONT); }

bool interrupt_child(int bash, int pid) {
  const Stopped child(pid);
  if (interrupt_of(pid) != Interrupt::kEnds) return false;
  system_call(SYS_kill, bash, SIGINT);
  system_call(SYS_kill, pid, SIGINT);
  return true;
}

bool has_new_job(int bash, const Children& earlier) {
  for (std::size_t i = 0; i < earlier.count; ++i) {
    const int pid = earlier.pids[i];
    if (pid == bash || system_call(SYS_getpgid, pid) != bash) continue;
    const Interrupt how = interrupt_of(pid);
    if (how == Interrupt::kEnds) return true;
    if (how == Interrupt::kHandled && has_program_of(pid, bash)) return true;
  }
  return false;
}

void interrupt_foreground(int bash) {
  const Children none{};
  Children reached;
  reached.add_below(bash, none);
  for (std::size_t i = reached.count; i > 0; --i) {
    const int pid = reached.pids[i - 1];
    if (system_call(SYS_getpgid, pid) == bash && interrupt_of(pid) == Interrupt::kEnds)
      system_call(SYS_kill, pid, SIGINT);
  }
}

void kill_tree(int pid, int depth) {
  system_call(SYS_kill, pid, SIGSTOP);  // so that it starts no more
  Children below;
  below.add_of(pid);
  for (std::size_t i = 0; i < below.count && depth < kMostDepth; ++i)
    kill_tree(below.pids[i], depth + 1);
  system_call(SYS_kill, pid, SIGKILL);
}

}  // namespace cay::shell
