#include "keeper/slots.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string_view>

namespace cay::keeper {
namespace {

constexpr std::int64_t kSpareAfterMs = 20;

std::string slurp(int fd) {
  std::string text;
  char chunk[4096];
  off_t at = 0;
  for (;;) {
    const ssize_t got = ::pread(fd, chunk, sizeof chunk, at);
    if (got <= 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
    at += got;
  }
}

// The text of a file of a few lines, which the kernel gives at once.
std::string slurp_short(int fd) {
  char text[1024];
  const ssize_t got = ::pread(fd, text, sizeof text, 0);
  return got <= 0 ? std::string() : std::string(text, static_cast<std::size_t>(got));
}

std::uint64_t number_at(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Makes (or finds, after a replaced keeper) a child group.
UniqueFd child_group(int parent, const std::string& name, int& error) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) {
    error = errno;
    return {};
  }
  UniqueFd dir(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) error = errno;
  return dir;
}

UniqueFd procs_of(int dir) {
  return UniqueFd(dir < 0 ? -1 : ::openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC));
}

// The file by which a process with one thread joins a v1 group. Through `cgroup.procs` the kernel
// moves all threads of a process, under a lock of the whole host. The lock waits for a grace period
// of RCU, which takes some milliseconds. A thread that moves itself through `tasks` does without.
UniqueFd tasks_of(int dir) {
  UniqueFd tasks(dir < 0 ? -1 : ::openat(dir, "tasks", O_WRONLY | O_CLOEXEC));
  return tasks ? std::move(tasks) : procs_of(dir);
}

}  // namespace

std::uint64_t counter_in(std::string_view text, std::string_view key) {
  if (key.empty()) return number_at(text);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return number_at(line.substr(key.size()));
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return 0;
}

std::string read_group_file(int dir, const char* file) {
  if (dir < 0) return {};
  const UniqueFd fd(::openat(dir, file, O_RDONLY | O_CLOEXEC));
  return fd ? slurp(fd.get()) : std::string();
}

std::uint64_t read_counter(int dir, const char* file, std::string_view key) {
  return counter_in(read_group_file(dir, file), key);
}

void Slot::kill_all() {
  if (!kill_) return;
  killed_ = true;
  [[maybe_unused]] const ssize_t done = ::pwrite(kill_.get(), "1", 1, 0);
}

bool Slot::populated() const {
  return events_ && counter_in(slurp_short(events_.get()), "populated") != 0;
}

std::uint64_t Slot::oom_kills_ever() const {
  return oom_ ? counter_in(slurp_short(oom_.get()), "oom_kill") : 0;
}

std::uint32_t Slot::oom_kills() const {
  return static_cast<std::uint32_t>(oom_kills_ever() - oom_at_take_);
}

std::uint64_t Slot::id() const {
  struct stat info{};
  // kernfs: on 64-bit machines the inode number is the cgroup's id.
  return v2_ && ::fstat(v2_.get(), &info) == 0 ? info.st_ino : 0;
}

Result<void> Slot::freeze(bool on) {
  UniqueFd file(v2_ ? ::openat(v2_.get(), "cgroup.freeze", O_WRONLY | O_CLOEXEC) : -1);
  if (!file) {
    return Error{Code::kUnsupported, "pause_unsupported",
                 "this sandbox cannot be paused: its host has no cgroup v2 freezer (Linux 5.2)",
                 errno};
  }
  if (::write(file.get(), on ? "1" : "0", 1) == 1) return {};
  return Error::from_errno(errno, on ? "freeze a command's cgroup" : "thaw a command's cgroup",
                           "pause_failed");
}

bool Slot::frozen() const {
  return events_ && counter_in(slurp_short(events_.get()), "frozen") != 0;
}

UniqueFd Slot::open_events() const {
  return UniqueFd(v2_ ? ::openat(v2_.get(), "cgroup.events", O_RDONLY | O_CLOEXEC) : -1);
}

std::vector<pid_t> Slot::pids() const {
  std::vector<pid_t> out;
  if (!v2_) return out;
  UniqueFd fd(::openat(v2_.get(), "cgroup.procs", O_RDONLY | O_CLOEXEC));
  if (!fd) return out;
  const std::string text = slurp(fd.get());
  for (std::size_t at = 0; at < text.size();) {
    const auto pid = static_cast<pid_t>(number_at(std::string_view(text).substr(at)));
    if (pid > 0) out.push_back(pid);
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return out;
}

Slots::Slots(Loop& loop, const Context& context)
    : loop_(loop),
      context_(context),
      pids_tasks_(tasks_of(context.pids_fd)),
      cpu_tasks_(tasks_of(context.cpu_fd)) {
  int ignored = 0;
  grow(ignored);
}

bool Slots::open_v2(Slot& slot, int& error) {
  slot.v2_ = child_group(context_.cgroup_fd, slot.name_, error);
  if (!slot.v2_) return false;
  slot.kill_.reset(::openat(slot.v2_.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  slot.events_.reset(::openat(slot.v2_.get(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  slot.v2_procs_ = procs_of(slot.v2_.get());
  if (slot.kill_ && slot.events_ && slot.v2_procs_) return true;
  error = errno;
  return false;
}

// A group that was killed is made anew, so that a child can be cloned into it. On a pure v2 host it
// stays: it counts memory, and the kernel would keep the removed one for a long time.
bool Slots::renew(Slot& slot, int& error) {
  if (!slot.killed_ || !slot.clones_ || context_.pure_v2) return true;
  const bool gone =
      ::unlinkat(context_.cgroup_fd, slot.name_.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  if (!gone) return true;
  if (!open_v2(slot, error)) return false;
  slot.joins_.front() = slot.v2_procs_.get();
  slot.killed_ = false;
  return true;
}

bool Slots::grow(int& error) {
  auto slot = std::make_unique<Slot>();
  slot->name_ = "s" + std::to_string(slots_.size());
  const std::string& name = slot->name_;
  if (context_.cgroup_fd >= 0) {
    if (!open_v2(*slot, error)) return false;
    slot->clones_ = context_.clones_into_groups;
    slot->joins_.push_back(slot->v2_procs_.get());
    if (context_.pure_v2) {
      slot->oom_.reset(::openat(slot->v2_.get(), "memory.events", O_RDONLY | O_CLOEXEC));
    }
  }
  if (context_.memory_fd >= 0) {
    // The first one counts in the sandbox's own group, which spares the kernel a large one. Most
    // sandboxes never run two commands at a time.
    int memory = context_.memory_fd;
    if (!slots_.empty()) {
      slot->memory_ = child_group(context_.memory_fd, name, error);
      if (!slot->memory_) return false;
      memory = slot->memory_.get();
      // The group above has the limit; a socket is counted only if its own group has one, be it
      // none (-1).
      const UniqueFd tcp(::openat(memory, "memory.kmem.tcp.limit_in_bytes", O_WRONLY | O_CLOEXEC));
      if (tcp && ::write(tcp.get(), "-1", 2) != 2) {
        error = errno;
        return false;
      }
    }
    slot->memory_tasks_ = tasks_of(memory);
    if (!slot->memory_tasks_) {
      error = errno;
      return false;
    }
    slot->joins_.push_back(slot->memory_tasks_.get());
    slot->own_joins_.push_back(slot->memory_tasks_.get());
    slot->oom_.reset(::openat(memory, "memory.oom_control", O_RDONLY | O_CLOEXEC));
  }
  for (const int flat : flat_joins()) slot->joins_.push_back(flat);
  free_.push_back(slot.get());
  slots_.push_back(std::move(slot));
  return true;
}

std::vector<int> Slots::flat_joins() const {
  std::vector<int> out;
  for (const UniqueFd* flat : {&pids_tasks_, &cpu_tasks_}) {
    if (*flat) out.push_back(flat->get());
  }
  return out;
}

Slot* Slots::take(int& error) {
  if (free_.empty() && !grow(error)) return nullptr;
  Slot* slot = free_.back();
  if (!renew(*slot, error)) return nullptr;
  free_.pop_back();
  ++taken_;
  slot->oom_at_take_ = slot->oom_kills_ever();
  // The next one is made off the path of a request, and only if this command lasts. Most sandboxes
  // run one short command after the other.
  if (free_.empty() && context_.cgroup_fd >= 0 && !spare_) {
    spare_ = loop_.after(kSpareAfterMs, [this] {
      spare_.reset();
      int ignored = 0;
      if (free_.empty()) grow(ignored);
    });
  }
  return slot;
}

Slot* Slots::take_for_keeper(int& error) {
  Slot* slot = take(error);
  if (slot == nullptr) return nullptr;
  --taken_;
  slot->for_keeper_ = true;
  // One that was frozen while it was empty: a pause may be on.
  [[maybe_unused]] const auto thawed = slot->freeze(false);
  return slot;
}

std::vector<Slot*> Slots::of_commands() const {
  std::vector<Slot*> out;
  for (const auto& slot : slots_) {
    if (!slot->for_keeper_) out.push_back(slot.get());
  }
  return out;
}

void Slots::check(Slot* slot) {
  if (!slot->on_empty_ || slot->populated()) return;
  slot->watch_.reset();
  auto on_empty = std::exchange(slot->on_empty_, nullptr);
  give_back(slot);
  on_empty();
}

void Slots::give_back(Slot* slot) {
  // Those that a child can be cloned into are taken first.
  free_.insert(slot->clone_into() < 0 ? free_.begin() : free_.end(), slot);
  if (--taken_ == 0) quiet_since_ = boottime_ms();
}

std::int64_t Slots::quiet_ms() const {
  if (taken_ > 0) return 0;
  return quiet_since_ < 0 ? -1 : boottime_ms() - quiet_since_;
}

void Slots::release_when_empty(Slot* slot, std::function<void()> on_empty) {
  slot->on_empty_ = std::move(on_empty);
  if (slot->events_) {
    slot->watch_ =
        loop_.watch(slot->events_.get(), EPOLLPRI, [this, slot](std::uint32_t) { check(slot); });
  }
  loop_.defer([this, slot] { check(slot); });
}

std::uint64_t Slots::oom_kills_ever() const {
  std::uint64_t sum = 0;
  for (const auto& slot : slots_) sum += slot->oom_kills_ever();
  return sum;
}

void Slots::kill_all() {
  for (const auto& slot : slots_) slot->kill_all();
}

}  // namespace cay::keeper
