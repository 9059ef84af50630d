#include "launcher/program_recorder.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "os/process.h"
#include "os/unix_socket.h"
#include "wire/messages.h"
#include "wire/program_event.h"

namespace cay::launcher {
namespace {

constexpr auto kLinger = std::chrono::seconds(10);
constexpr std::size_t kMaps = 2;  // sent before the links

Result<bpf_map_info> info_of(int map) {
  bpf_map_info info{};
  std::uint32_t size = sizeof info;
  if (bpf_obj_get_info_by_fd(map, &info, &size) != 0)
    return Error::from_errno(errno, "get a map's id");
  return info;
}

// A map of an earlier worker may be gone, and its number another's.
void remove_key(std::uint32_t map_id, const char* name, std::uint64_t key) {
  const UniqueFd map(map_id != 0 ? bpf_map_get_fd_by_id(map_id) : -1);
  if (!map) return;
  const auto info = info_of(map.get());
  if (info && std::strcmp(info->name, name) == 0) bpf_map_delete_elem(map.get(), &key);
}

[[noreturn]] void load_and_send(int socket) {
  os::close_all_but({0, 1, 2, socket});
  auto part = load_program_part();
  if (!part) {
    const Error& error = part.error();
    (void)os::send_message(
        socket, wire::encode(wire::ErrorMsg{static_cast<std::uint32_t>(error.code), error.reason,
                                            error.message, error.os_errno}));
    ::_exit(1);
  }
  std::vector<int> fds{part->rings.get(), part->states.get()};
  for (const UniqueFd& link : part->links) fds.push_back(link.get());
  (void)os::send_message(socket, "loaded", fds);
  ::_exit(0);
}

}  // namespace

ProgramRecorder::~ProgramRecorder() {
  if (child_pid_ == 0) return;
  poller_.forget(from_child_.get());
  os::kill_process(child_.get());
  ::waitpid(child_pid_, nullptr, 0);
}

void ProgramRecorder::when_ready(Then then) {
  if (part_) return then({});
  waiting_.push_back(std::move(then));
  if (child_pid_ == 0) load();
}

void ProgramRecorder::load() {
  auto pair = os::socket_pair();
  auto child = pair ? os::clone_process(0) : Result<os::Cloned>(pair.error());
  if (!child) return settle(std::move(child).error().while_doing("load the program record"));
  if (child->pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    load_and_send(pair->theirs.get());
  }
  child_pid_ = child->pid;
  child_ = std::move(child->pidfd);
  from_child_ = std::move(pair->ours);
  pair->theirs.reset();
  poller_.watch(from_child_.get(), EPOLLIN, [this](std::uint32_t) { on_loaded(); });
}

void ProgramRecorder::on_loaded() {
  auto message = os::receive_message(from_child_.get());
  poller_.forget(from_child_.get());
  from_child_.reset();
  ::waitpid(child_pid_, nullptr, 0);  // it has nothing more to do
  child_pid_ = 0;
  child_.reset();
  if (!message || message->bytes.empty()) {
    return settle(Error{Code::kUnavailable, "programs_loader_died",
                        "the process that prepares the program record died: retry", 0});
  }
  if (message->fds.size() <= kMaps) {
    const auto said = wire::decode<wire::ErrorMsg>(message->bytes);
    if (!said)
      return settle(Error{Code::kInternal, "programs_loader_died",
                          "the program record could not be loaded", 0});
    return settle(Error{static_cast<Code>(said->code), said->reason, said->message,
                        static_cast<int>(said->os_errno)});
  }
  ProgramPart part;
  part.rings = std::move(message->fds[0]);
  part.states = std::move(message->fds[1]);
  for (std::size_t i = kMaps; i < message->fds.size(); ++i)
    part.links.push_back(std::move(message->fds[i]));
  const auto rings = info_of(part.rings.get());
  const auto states = info_of(part.states.get());
  if (!rings || !states) return settle(rings ? states.error() : rings.error());
  rings_id_ = rings->id;
  states_id_ = states->id;
  part_ = std::move(part);
  idle_since_ = Clock::now();
  settle({});
}

void ProgramRecorder::settle(const Result<void>& result) {
  for (const Then& then : std::exchange(waiting_, {})) then(result);
}

Result<ProgramTap> ProgramRecorder::tap(int cmds) {
  struct stat info{};
  if (::fstat(cmds, &info) != 0) return Error::from_errno(errno, "stat the cgroup to record");
  ProgramTap tap;
  // kernfs: on 64-bit machines the inode number is the cgroup's id.
  tap.id = {info.st_ino, rings_id_, states_id_};
  tap.ring =
      UniqueFd(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "cay_ring", 0, 0, CAY_PROGRAM_RING, nullptr));
  if (!tap.ring) return Error::from_errno(errno, "make the ring of the program record");
  bpf_map_create_opts shared{};
  shared.sz = sizeof shared;
  shared.map_flags = BPF_F_MMAPABLE;
  tap.state = UniqueFd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "cay_state", sizeof(cay_u32),
                                      sizeof(cay_program_state), 1, &shared));
  if (!tap.state) return Error::from_errno(errno, "make the counters of the program record");
  for (const UniqueFd& link : part_->links) tap.links.push_back(link.get());
  const int ring = tap.ring.get();
  const int state = tap.state.get();
  // The counters last: the kernel part begins with them.
  if (bpf_map_update_elem(part_->rings.get(), &tap.id.group, &ring, BPF_ANY) != 0 ||
      bpf_map_update_elem(part_->states.get(), &tap.id.group, &state, BPF_ANY) != 0) {
    const int err = errno;
    untap(tap.id);
    return Error::from_errno(err, "enter the sandbox into the program record");
  }
  taps_.insert(tap.id.group);
  return tap;
}

void ProgramRecorder::untap(const ProgramTapId& id) {
  if (id.group == 0) return;
  remove_key(id.states, "cay_states", id.group);
  remove_key(id.rings, "cay_rings", id.group);
  if (id.rings == rings_id_ && taps_.erase(id.group) > 0) idle_since_ = Clock::now();
}

int ProgramRecorder::tick() {
  if (!part_ || !taps_.empty()) return -1;
  const auto rest = idle_since_ + kLinger - Clock::now();
  if (rest > Clock::duration::zero())
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(rest).count());
  part_.reset();
  rings_id_ = states_id_ = 0;
  return -1;
}

}  // namespace cay::launcher
