#include "keeper/zygote.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "keeper/zygote_request.h"

namespace cay::keeper {
namespace {

constexpr std::int64_t kNewMs = 1'000;    // after one that ended by itself
constexpr std::int64_t kFullMs = 10'000;  // after make_room()
constexpr std::int64_t kStuckMs = 20;     // a start takes well under a millisecond
constexpr std::size_t kMostInFlight = 16;

// The descriptors of the zygote. Those of a request lie above: nothing that writes to the standard
// streams may reach them.
constexpr int kSocket = 0;
constexpr int kDevpts = 1;
constexpr int kFirstOfRequest = 3;

// clone3 with a stack of the child's own, on which it calls `run(data)`, which never returns. The C
// library has clone3 for its own use alone, and clone() knows no CLONE_INTO_CGROUP.
long clone3_onto_stack(clone_args& args, void (*run)(void*), void* data) {
#if defined(__x86_64__)
  long result = SYS_clone3;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %[data], %%rdi\n\t"
      "call *%[run]\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(&args), "S"(sizeof args), [run] "r"(run), [data] "r"(data)
      : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long result __asm__("x0") = reinterpret_cast<long>(&args);
  register long size __asm__("x1") = sizeof args;
  register long number __asm__("x8") = SYS_clone3;
  __asm__ volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, %[data]\n\t"
      "blr %[run]\n\t"
      "brk #1\n"
      "1:"
      : "+r"(result)
      : "r"(size), "r"(number), [run] "r"(run), [data] "r"(data)
      : "memory");
#endif
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

struct ZygotePlan {
  pid_t keeper = 0;
  int socket = -1;
  int devpts = -1;
  int init_pidfd = -1;
  bool own_clocks = false;
  const std::vector<int>* joins = nullptr;
  Profile profile = Profile::kDefault;
  SignalBits changed_signals = 0;
};

// The part before the first request. False with errno: this sandbox has no zygote.
bool settle_inside(const ZygotePlan& plan, Scheduling& own) {
  ::prctl(PR_SET_NAME, "cay-zygote");
  own = own_scheduling();
  for (const int join : *plan.joins) {
    if (::write(join, "0", 1) != 1) return false;
  }
  const int init = ::fcntl(plan.init_pidfd, F_DUPFD_CLOEXEC, 64);
  const int socket = ::fcntl(plan.socket, F_DUPFD_CLOEXEC, 64);
  const int devpts = plan.devpts < 0 ? -1 : ::fcntl(plan.devpts, F_DUPFD_CLOEXEC, 64);
  if (init < 0 || socket < 0) return false;
  ::dup3(socket, kSocket, O_CLOEXEC);
  ::dup3(devpts >= 0 ? devpts : socket, kDevpts, O_CLOEXEC);
  ::dup3(socket, STDERR_FILENO, O_CLOEXEC);
  const int kept = ::dup3(init, kFirstOfRequest, O_CLOEXEC);
  ::syscall(SYS_close_range, static_cast<unsigned>(kept) + 1, ~0U, 0);
  if (!enter_namespaces(kept, plan.own_clocks)) return false;
  ::close(kept);
  Confinement to;
  to.profile = plan.profile;
  to.changed_signals = plan.changed_signals;
  if (confine_zygote(to) != nullptr) return false;
  ::prctl(PR_SET_DUMPABLE, 0);
  // Entering changed credentials, which clears this.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return ::getppid() == plan.keeper;
}

// Starts the child, and returns when it runs its program or is over.
void start_child(ZygoteRequest& request) {
  // A command needs little; file tasks, which walk deep trees, are not started here.
  alignas(64) static char stack[256 * 1024];
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | CLONE_PARENT_SETTID | CLONE_INTO_CGROUP;
  args.parent_tid = reinterpret_cast<std::uint64_t>(request.plan.pid_cell);
  args.stack = reinterpret_cast<std::uint64_t>(stack);
  args.stack_size = sizeof stack;
  args.cgroup = static_cast<std::uint64_t>(request.group);
  const auto run = [](void* plan) { become_command(*static_cast<const ChildPlan*>(plan)); };
  if (clone3_onto_stack(args, run, &request.plan) < 0)
    report_failure(request.plan.status_fd, "clone", errno);
}

[[noreturn]] void run_zygote(const ZygotePlan& plan) {
  Scheduling own;
  if (!settle_inside(plan, own)) ::_exit(1);
  static ZygoteRequest request;
  while (receive_in_zygote(kSocket, request)) {
    request.plan.profile = plan.profile;
    request.plan.scheduling = own;
    request.plan.is_prepared = true;
    request.plan.terminal.devpts = plan.devpts < 0 ? -1 : kDevpts;
    start_child(request);
    ::syscall(SYS_close_range, static_cast<unsigned>(kFirstOfRequest), ~0U, 0);
  }
  ::_exit(0);
}

}  // namespace

Zygote::Zygote(Loop& loop, Reaper& reaper, const Context& context, const Slots& slots,
               SignalBits changed)
    : loop_(loop),
      reaper_(reaper),
      context_(context),
      flat_joins_(slots.flat_joins()),
      changed_signals_(changed) {}

Zygote::~Zygote() { close(); }

bool Zygote::possible() const {
  return !closed_ && context_.init_pidfd >= 0 && context_.clones_into_groups;
}

void Zygote::prepare() {
  if (!possible() || pid_ > 0 || loop_.now() < not_before_) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  ZygotePlan plan;
  plan.keeper = ::getpid();
  plan.socket = theirs.get();
  plan.devpts = context_.devpts_fd;
  plan.init_pidfd = context_.init_pidfd;
  plan.own_clocks = context_.own_clocks;
  plan.joins = &flat_joins_;
  plan.profile = context_.profile;
  plan.changed_signals = changed_signals_;
  const pid_t pid = ::fork();
  if (pid == 0) run_zygote(plan);
  not_before_ = loop_.now() + kNewMs;
  if (pid < 0) return;
  pid_ = pid;
  socket_ = std::move(ours);
  in_flight_ = 0;
  reaper_.expect(pid, [this](const Exit&) { drop(); });
  if (was_used_ || !context_.waits_for_use)
    idle_ = loop_.after(context_.zygote_idle_ms, [this] { kill(); });
}

void Zygote::drop() {
  pid_ = 0;
  socket_.reset();
  idle_.reset();
}

bool Zygote::start(ChildPlan plan, const Slot& slot) {
  was_used_ = true;
  if (!socket_ || slot.clone_into() < 0) return false;
  // One child at a time is on its way to its program. One that stays there holds up the others.
  if (in_flight_ >= kMostInFlight || (in_flight_ > 0 && loop_.now() - since_ > kStuckMs))
    return false;
  plan.joins = slot.own_joins().data();
  plan.join_count = static_cast<int>(slot.own_joins().size());
  if (!send_to_zygote(socket_.get(), plan, slot.clone_into())) return false;
  if (in_flight_++ == 0) since_ = loop_.now();
  idle_ = loop_.after(context_.zygote_idle_ms, [this] { kill(); });
  return true;
}

void Zygote::over() {
  if (in_flight_ > 0) --in_flight_;
  since_ = loop_.now();
}

void Zygote::make_room() {
  close();
  closed_ = false;
  not_before_ = loop_.now() + kFullMs;
}

void Zygote::kill() {
  socket_.reset();  // it gets nothing more
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void Zygote::close() {
  closed_ = true;
  if (pid_ <= 0) return;
  kill();
  while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  reaper_.forget(pid_);
  drop();
}

}  // namespace cay::keeper
