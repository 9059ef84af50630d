#include "launcher/oom_watch.h"

#include <bpf/bpf.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "launcher/bpf_object.h"
#include "os/process.h"
#include "os/unix_socket.h"
#include "wire/oom_victim_read.h"

extern "C" {
extern const char cay_oom_victims_blob[];
extern const char cay_oom_victims_blob_end[];
}

namespace cay::launcher {
namespace {

constexpr int kLoadLimitMs = 30'000;  // tens of milliseconds on a machine that is not emulated

struct Part {
  UniqueFd victims, link;
};

Result<Part> load() {
  CAY_TRY(const BpfObject object,
          load_bpf_object({cay_oom_victims_blob, cay_oom_victims_blob_end}));
  Part part;
  CAY_TRY(part.victims,
          keep_descriptor(bpf_object__find_map_fd_by_name(object.get(), "cay_victims"), "a map"));
  // Only the kernel part writes from here on, whoever holds a descriptor.
  if (bpf_map_freeze(part.victims.get()) != 0) return bpf_error(errno, "freeze the map");
  CAY_TRY(part.link, attach(bpf_object__next_program(object.get(), nullptr)));
  return part;
}

[[noreturn]] void load_and_send(int socket) {
  os::close_all_but({0, 1, 2, socket});
  const auto part = load();
  if (part) {
    (void)os::send_message(socket, "the tracepoint oom:mark_victim",
                           {part->victims.get(), part->link.get()});
  } else {
    (void)os::send_message(socket, part.error().message);
  }
  ::_exit(0);
}

}  // namespace

OomWatch& OomWatch::operator=(OomWatch&& other) noexcept {
  std::swap(from_child_, other.from_child_);
  std::swap(child_, other.child_);
  std::swap(child_pid_, other.child_pid_);
  std::swap(victims_, other.victims_);
  std::swap(link_, other.link_);
  std::swap(how_, other.how_);
  return *this;
}

OomWatch::~OomWatch() {
  if (child_pid_ == 0) return;
  os::kill_process(child_.get());
  ::waitpid(child_pid_, nullptr, 0);
}

OomWatch OomWatch::begin() {
  OomWatch watch;
  auto pair = os::socket_pair();
  auto child = pair ? os::clone_process(0) : Result<os::Cloned>(pair.error());
  if (!child) {
    watch.how_ = child.error().message;
    return watch;
  }
  if (child->pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    load_and_send(pair->theirs.get());
  }
  watch.child_pid_ = child->pid;
  watch.child_ = std::move(child->pidfd);
  watch.from_child_ = std::move(pair->ours);
  return watch;
}

void OomWatch::finish() {
  if (child_pid_ == 0) return;
  pollfd readable{from_child_.get(), POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&readable, 1, kLoadLimitMs)) < 0 && errno == EINTR) {
  }
  how_ = "loading the kernel part took too long";
  if (ready > 0) {
    auto message = os::receive_message(from_child_.get());
    how_ = message && !message->bytes.empty() ? message->bytes
                                              : "the process that loads the kernel part died";
    if (message && message->fds.size() == 2) {
      victims_ = std::move(message->fds[0]);
      link_ = std::move(message->fds[1]);
    }
  }
  os::kill_process(child_.get());
  ::waitpid(child_pid_, nullptr, 0);
  child_pid_ = 0;
  child_.reset();
  from_child_.reset();
}

bool OomWatch::chose(pid_t pid, std::uint64_t group) const {
  if (!victims_ || group == 0) return false;
  void* at = ::mmap(nullptr, sizeof(cay_oom_victims), PROT_READ, MAP_SHARED, victims_.get(), 0);
  if (at == MAP_FAILED) return false;
  const auto& all = *static_cast<const cay_oom_victims*>(at);
  const std::uint64_t last = __atomic_load_n(&all.count, __ATOMIC_ACQUIRE);
  bool found = false;
  for (std::uint64_t number = wire::oom_victims_gone(last) + 1; number <= last && !found;
       ++number) {
    cay_oom_victim victim{};
    found = wire::read_oom_victim(all, number, victim) && victim.group == group &&
            victim.pid == static_cast<std::uint32_t>(pid);
  }
  ::munmap(at, sizeof(cay_oom_victims));
  return found;
}

}  // namespace cay::launcher
