// The driver of a shell: a small program that runs in the sandbox and keeps one bash.
//
// Arguments: the path of this program, which it removes, and the path of bash. A request is a line
// on stdin: "run ID TAG TIMEOUT_MS CODE INPUT", the last two in base64. Events leave as lines of
// JSON on stdout, like those of the other drivers, and the ledger on stderr.
//
// Bash is interactive, so an interrupt or an error of syntax ends a call and spares the shell. It
// reads the driver's lines on its stdin. One line sources the code of a call from a file in memory,
// and gives this call its own descriptors 0, 1 and 2. The next line reports the exit code.
//
// Bash opens all these files by their names in /proc, and closes them after the call. So a program
// that a call starts holds no descriptor of the driver. A report counts only behind a random number
// that no earlier call could see.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "code/shell/outputs.h"
#include "code/shell/processes.h"

extern "C" {
// The compiler calls these. Without a C library nobody else defines them.
void* memcpy(void* to, const void* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
void* memset(void* to, int byte, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) static_cast<char*>(to)[i] = static_cast<char>(byte);
  return to;
}
[[noreturn]] void cay_shell_main(long* stack);
}

#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n"
    "  call cay_shell_main\n");
#else
__asm__(".globl _start\n_start:\n  mov x29, #0\n  mov x0, sp\n  bl cay_shell_main\n");
#endif

namespace cay::shell {
namespace {

constexpr std::size_t kMostRequest = 4 << 20;  // code and input of 1 MiB each, in base64
constexpr std::size_t kMostEnded = 10'000;     // ids of calls, so that a repeat runs nothing
constexpr long kGraceMs = 2000;                // between the steps of a time limit
constexpr long kAgainMs = 50;                  // between an interrupt and a kill in these steps
constexpr long kSoonMs = 2;                    // while bash forks or reaps a process
constexpr int kNoCode = -1;                    // the call never came to bash
constexpr int kInterrupted = 130;              // 128 + SIGINT
constexpr long kMemfdCloexec = 1;              // MFD_CLOEXEC, whose header is not C++

// Large and outside of Driver, so that the program's file does not hold their zeros.
constinit Buffer<kMostRequest> request_text;
constinit std::uint64_t ended_calls[kMostEnded] = {};  // hashes of their ids

// How far the end of a call is forced.
enum class Stage { kRuns, kInterrupted, kKilling, kLastKilling };

struct Call {
  bool is_running = false;
  bool has_begun = false;  // bash has come to it
  bool interrupt_due = false;
  bool timed_out = false;
  bool was_killed = false;
  int interrupts = 0;
  Id id;
  Buffer<32> key;           // of its reports
  Buffer<256> report_line;  // the line of bash that reports its end
  int code = -1, input = -1, out = -1, err = -1;
  long deadline = 0;  // 0: none
  Stage stage = Stage::kRuns;
  long next_step = 0;  // 0: none
  long kill_until = 0;
  Children earlier;  // children that it did not start
  int tries = 0;     // of an interrupt
};

// The end of a call, for the events and for the ledger.
struct Ending {
  const char* status;
  int code = kNoCode;
  bool ended = false;
  Text cwd{};
};

void put_ending(Events& events, const Id& call, const Ending& how) {
  events.begin(call, "done");
  events.member("status", how.status);
  if (how.code != kNoCode) events.number("exit_code", static_cast<std::uint64_t>(how.code));
  if (how.ended) events.yes("ended");
  if (how.cwd.size > 0) events.member("cwd", how.cwd);
}

class Driver {
 public:
  Driver(int requests, int events, int ledger)
      : requests_(requests), events_(events, ledger), outputs_(events_) {}
  [[noreturn]] void run(const char* bash, char** environment);

 private:
  void start_bash(const char* bash, char** environment);
  void read_requests();
  void read_request_lines();
  void take_request();
  void begin(Text line);
  bool open_files(Text code, Text input);
  void send_lines();
  void finish(int code, bool ended);
  void close_call();
  void read_signals();
  void bash_ended(int status);
  void read_reports();
  void interrupt();
  void step();
  void pass_deadline(long now);
  void kill_call();
  void ask_to_confirm();
  bool interrupt_call();
  // kInBetween: bash has just forked a process, or reaps one, so a signal might be lost.
  enum class Reminder { kNobody, kInBetween, kSent };
  Reminder remind();

  int requests_;
  Events events_;
  Outputs outputs_;
  int signals_ = -1;
  int commands_ = -1;  // stdin of bash
  int reports_ = -1, reports_writer_ = -1;
  int pid_ = 0, bash_ = 0;
  int last_code_ = 0;
  std::uint64_t idle_from_ = 0;  // bytes of events at the end of the last call
  bool over_ = false;            // no more requests come
  // After an interrupt bash confirms that it reads lines again: the signal may come late, and then
  // takes a line with it.
  Buffer<32> confirmation_;     // what it reports. Empty: it need not
  long confirm_again_ = 0;      // when the driver repeats its line
  bool has_early_one_ = false;  // an interrupt of the next call came before that
  Call call_;
  Buffer<4096> report_;
  std::size_t ended_count_ = 0;
};

std::uint64_t hash_of(Text text) {  // FNV-1a
  std::uint64_t out = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < text.size; ++i)
    out = (out ^ static_cast<unsigned char>(text.data[i])) * 0x100000001b3;
  return out;
}

void put_random(Buffer<32>& to) {
  std::uint64_t random[2] = {};
  system_call(SYS_getrandom, address(random), sizeof random, 0);
  for (std::uint64_t part : random) {
    for (int i = 0; i < 16; ++i, part >>= 4) to.put("0123456789abcdef"[part & 15]);
  }
}

int memory_file(Text content) {
  const long fd = system_call(SYS_memfd_create, address("cay-shell"), kMemfdCloexec);
  if (fd < 0) return -1;
  if (write_all(static_cast<int>(fd), content)) return static_cast<int>(fd);
  system_call(SYS_close, fd);
  return -1;
}

// The name of a descriptor of this program, as bash opens it.
template <std::size_t kSize>
void put_path(Buffer<kSize>& to, int pid, int fd) {
  to.put("/proc/");
  to.put_number(static_cast<std::uint64_t>(pid));
  to.put("/fd/");
  to.put_number(static_cast<std::uint64_t>(fd));
}

void Driver::begin(Text line) {
  if (!(take_word(line) == "run")) return;
  const Text id = take_word(line);
  const Text tag = take_word(line);
  const long long limit = number_from(take_word(line));
  const Text code = take_word(line);
  const Text input = line;
  if (id.size == 0 || id.size > kMostId || limit < 0) return;
  const std::uint64_t hash = hash_of(id);
  for (const std::uint64_t one : ended_calls) {
    if (one == hash) return;
  }
  // Both lie in request_text, and are read once.
  const long code_size = decode_base64(const_cast<char*>(code.data), code.size);
  const long input_size = decode_base64(const_cast<char*>(input.data), input.size);
  if (code_size < 0 || input_size < 0) return;
  ended_calls[ended_count_++ % kMostEnded] = hash;

  call_ = Call{};
  call_.is_running = true;
  call_.id.set(id);
  events_.begin(call_.id, "begin");
  events_.member("tag", tag);
  events_.number("from", idle_from_);
  events_.number("at", events_.sent());
  events_.note();
  events_.begin(call_.id, "begin");
  events_.member("tag", tag);
  events_.send();
  outputs_.begin(call_.id);
  if (!open_files({code.data, static_cast<std::size_t>(code_size)},
                  {input.data, static_cast<std::size_t>(input_size)})) {
    events_.begin(call_.id, "error");
    events_.member("name", "TooManyOpen");
    events_.member("value", "jobs of too many calls hold their output: end some");
    events_.member("traceback", "");
    events_.send();
    return finish(kNoCode, false);
  }
  if (limit > 0) call_.deadline = now_ms() + limit;
  call_.earlier.add_of(bash_);
  call_.earlier.add_of(pid_);
  send_lines();
}

bool Driver::open_files(Text code, Text input) {
  call_.code = memory_file(code);
  if (input.size > 0) call_.input = memory_file(input);
  if (call_.code < 0 || (input.size > 0 && call_.input < 0)) return false;
  Stream* const out = outputs_.open("stdout", call_.id, call_.out);
  if (out == nullptr) return false;
  if (outputs_.open("stderr", call_.id, call_.err) != nullptr) return true;
  close_fd(out->fd);
  return false;
}

// Writes the lines of a call for bash: that it begins, the call, and a report of its exit code.
void Driver::send_lines() {
  put_random(call_.key);
  Buffer<1024> lines;
  lines.put("builtin printf '%s\\n' ");
  lines.put(call_.key.text());
  lines.put("b >");
  put_path(lines, pid_, reports_writer_);
  lines.put('\n');
  if (last_code_ != 0) {  // so that $? is that of the call before
    lines.put("(exit ");
    lines.put_number(static_cast<std::uint64_t>(last_code_));
    lines.put(") || ");
  }
  lines.put("builtin . ");
  put_path(lines, pid_, call_.code);
  lines.put(" <");
  if (call_.input < 0) {
    lines.put("/dev/null");
  } else {
    put_path(lines, pid_, call_.input);
  }
  lines.put(" >");
  put_path(lines, pid_, call_.out);
  lines.put(" 2>");
  put_path(lines, pid_, call_.err);
  lines.put('\n');
  call_.report_line.put("builtin printf '%s\\n' ");
  call_.report_line.put(call_.key.text());
  call_.report_line.put("=$? >");
  put_path(call_.report_line, pid_, reports_writer_);
  call_.report_line.put('\n');
  lines.put(call_.report_line.text());
  write_all(commands_, lines.text());  // it fails only if bash has ended, and SIGCHLD reports that
}

void Driver::close_call() {
  close_fd(call_.out);
  close_fd(call_.err);
  close_fd(call_.code);
  close_fd(call_.input);
  call_.is_running = false;
}

void Driver::finish(int code, bool ended) {
  outputs_.end();
  const bool was_interrupted = call_.interrupts > 0 && (code == kInterrupted || call_.was_killed);
  Ending how{.status = call_.timed_out   ? "timed_out"
                       : was_interrupted ? "interrupted"
                       : code == 0       ? "ok"
                                         : "error",
             .code = code,
             .ended = ended};
  char directory[4096];
  if (!ended) {
    Buffer<64> path;
    path.put("/proc/");
    path.put_number(static_cast<std::uint64_t>(bash_));
    path.put("/cwd");
    path.put('\0');
    const long size = system_call(SYS_readlinkat, AT_FDCWD, address(path.data()),
                                  address(directory), sizeof directory);
    if (size > 0) how.cwd = {directory, static_cast<std::size_t>(size)};
  }
  close_fd(call_.out);
  close_fd(call_.err);
  const bool has_jobs = outputs_.has_jobs(call_.id);
  put_ending(events_, call_.id, how);
  events_.send();
  idle_from_ = events_.sent();
  put_ending(events_, call_.id, how);
  if (has_jobs) events_.yes("jobs");
  events_.number("at", idle_from_);
  events_.note();
  if (code != kNoCode) last_code_ = code;
  const bool was_signalled = call_.stage != Stage::kRuns && !ended;
  close_call();
  if (!was_signalled) return;
  interrupt_foreground(bash_);
  put_random(confirmation_);
  ask_to_confirm();
}

void Driver::ask_to_confirm() {
  constexpr long kPatienceMs = 20;
  Buffer<256> line;
  line.put("builtin printf '%s\\n' ");
  line.put(confirmation_.text());
  line.put(" >");
  put_path(line, pid_, reports_writer_);
  line.put('\n');
  write_all(commands_, line.text());
  confirm_again_ = now_ms() + kPatienceMs;
}

void Driver::read_reports() {
  if (report_.room() < 1024) report_.remove_front(report_.size() - 1024);
  const long got =
      system_call(SYS_read, reports_, address(report_.end()), static_cast<long>(report_.room()));
  if (got <= 0) return;
  report_.grow(static_cast<std::size_t>(got));
  if (!call_.is_running) {
    const Text key = confirmation_.text();
    const Text all = report_.text();
    for (std::size_t at = 0; key.size > 0 && at + key.size <= all.size; ++at) {
      if (Text{all.data + at, key.size} == key) return confirmation_.clear();
    }
    return;
  }
  const Text key = call_.key.text();
  const Text all = report_.text();
  for (std::size_t at = 0; at + key.size + 1 < all.size; ++at) {
    if (!(Text{all.data + at, key.size} == key)) continue;
    const Text rest{all.data + at + key.size, all.size - at - key.size};
    if (rest.data[0] == 'b') call_.has_begun = true;
    if (rest.data[0] != '=') continue;
    std::size_t end = 1;
    while (end < rest.size && rest.data[end] != '\n') ++end;
    if (end == rest.size) return;  // the rest of the line is still to come
    const long long code = number_from({rest.data + 1, end - 1});
    if (code < 0 || code > 255) continue;
    report_.clear();
    return finish(static_cast<int>(code), false);
  }
}

void Driver::interrupt() {
  if (!call_.is_running) return;
  ++call_.interrupts;
  call_.interrupt_due = true;
  if (call_.stage == Stage::kRuns) {
    call_.stage = Stage::kInterrupted;
  } else if (call_.stage == Stage::kInterrupted) {
    call_.stage = Stage::kKilling;
    call_.kill_until = now_ms() + kGraceMs;
    call_.interrupt_due = false;  // the kill comes first
  }
  call_.next_step = now_ms();
}

// Jobs of earlier calls live on.
void Driver::kill_call() {
  Children now;
  now.add_of(bash_);
  now.add_of(pid_);
  for (std::size_t i = 0; i < now.count; ++i) {
    if (now.pids[i] == bash_ || call_.earlier.has(now.pids[i])) continue;
    call_.was_killed = true;
    kill_tree(now.pids[i]);
  }
}

// Returns false where it must be tried again soon.
bool Driver::interrupt_call() {
  constexpr int kMostTries = 25;
  constexpr int kMostTriesOfJobs = 250;
  const Stopped bash(bash_);
  Children reached;
  reached.add_below(bash_, call_.earlier);
  const bool waits = (call_.tries < kMostTries && has_new_child(bash_, reached)) ||
                     (call_.tries < kMostTriesOfJobs && has_new_job(bash_, call_.earlier));
  ++call_.tries;
  if (waits) return false;
  call_.tries = 0;
  system_call(SYS_kill, -bash_, SIGINT);
  return true;
}

// Repeats the interrupt for processes that have not seen it: SIGINT ends them, and they are there.
Driver::Reminder Driver::remind() {
  constexpr int kMostInBetween = 100;
  const Stopped bash(bash_);
  Children reached;
  reached.add_below(bash_, call_.earlier);
  bool has_new = false;
  std::size_t gone = 0;
  for (std::size_t i = 0; i < reached.count; ++i) {
    if (interrupt_of(reached.pids[i]) == Interrupt::kGone) ++gone;
    has_new = has_new || is_new_child(bash_, reached.pids[i]);
  }
  // Bash itself is busy. The first one may have come before the code of the call did.
  if (reached.count == gone) system_call(SYS_kill, bash_, SIGINT);
  if ((has_new || gone > 0) && call_.tries++ < kMostInBetween) return Reminder::kInBetween;
  call_.tries = 0;
  bool sent = false;
  for (std::size_t i = reached.count; i > 0; --i) {
    const int pid = reached.pids[i - 1];
    if (system_call(SYS_getpgid, pid) == bash_ && interrupt_of(pid) == Interrupt::kEnds)
      sent = interrupt_child(bash_, pid) || sent;
  }
  return sent ? Reminder::kSent : Reminder::kNobody;
}

// A time limit interrupts the call, kills what it started, and at last kills bash.
void Driver::pass_deadline(long now) {
  if (!call_.timed_out) {
    call_.timed_out = true;
    call_.interrupt_due = true;
    if (call_.stage == Stage::kRuns) call_.stage = Stage::kInterrupted;
  } else if (call_.stage != Stage::kLastKilling) {
    call_.stage = Stage::kLastKilling;
    call_.kill_until = now + kGraceMs;
    call_.interrupt_due = false;
  } else {
    system_call(SYS_kill, bash_, SIGKILL);
  }
  call_.deadline = now + kGraceMs;
  call_.next_step = now;
}

// Takes the step that is due towards the end of the call.
void Driver::step() {
  const long now = now_ms();
  if (call_.deadline > 0 && now >= call_.deadline) pass_deadline(now);
  if (call_.next_step == 0 || now < call_.next_step) return;
  call_.next_step = now + kAgainMs;
  // Before bash has come to the call, an interrupt would have no effect. Bash may wait for a
  // process of an interrupted call that had not executed its program when the signal came.
  if (!call_.has_begun) return interrupt_foreground(bash_);
  const bool kills = call_.stage == Stage::kKilling || call_.stage == Stage::kLastKilling;
  // In turn, since bash ignores an interrupt while it waits for a process that dies of a kill.
  if (kills && now < call_.kill_until && !call_.interrupt_due) {
    kill_call();
    call_.interrupt_due = true;
    return;
  }
  if (call_.interrupt_due) {
    call_.interrupt_due = !interrupt_call();
    if (call_.interrupt_due) call_.next_step = now + kSoonMs;
    return;
  }
  const Reminder reminder = remind();
  if (reminder == Reminder::kInBetween) call_.next_step = now + kSoonMs;
  if (reminder != Reminder::kNobody) return;
  // The interrupt may have hit the report instead of the call.
  write_all(commands_, call_.report_line.text());
  call_.next_step = now + 10 * kAgainMs;
}

void Driver::bash_ended(int status) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // Bash may have reported the end of the call before its own.
  int waiting = 0;
  system_call(SYS_ioctl, reports_, FIONREAD, address(&waiting));
  if (waiting > 0) read_reports();
  if (call_.is_running) finish(code, true);
  outputs_.drain_all();
  leave(code);
}

void Driver::read_signals() {
  signalfd_siginfo info{};
  while (system_call(SYS_read, signals_, address(&info), sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGINT) continue;
    if (confirmation_.size() > 0) {
      pollfd wait{.fd = requests_, .events = POLLIN, .revents = 0};
      const timespec none{};
      if (system_call(SYS_ppoll, address(&wait), 1, address(&none)) > 0) read_requests();
      has_early_one_ = has_early_one_ || request_text.size() > 0;
      continue;
    }
    if (!call_.is_running) take_request();  // one that came before the interrupt
    interrupt();
  }
  for (;;) {
    int status = 0;
    const long pid = system_call(SYS_wait4, -1, address(&status), WNOHANG);
    if (pid <= 0) return;
    if (pid == bash_) bash_ended(status);
  }
}

void Driver::read_requests() {
  if (request_text.room() == 0) request_text.clear();  // it is longer than any request
  const long got = system_call(SYS_read, requests_, address(request_text.end()),
                               static_cast<long>(request_text.room()));
  if (got == 0) over_ = true;
  if (got > 0) request_text.grow(static_cast<std::size_t>(got));
}

void Driver::read_request_lines() {
  std::size_t begin_of_line = 0;
  const Text all = request_text.text();
  for (std::size_t at = 0; at < all.size && !call_.is_running; ++at) {
    if (all.data[at] != '\n') continue;
    begin({all.data + begin_of_line, at - begin_of_line});
    begin_of_line = at + 1;
  }
  if (begin_of_line > 0) request_text.remove_front(begin_of_line);
}

// Begins the next call, if its request is there.
void Driver::take_request() {
  read_request_lines();
  pollfd wait{.fd = requests_, .events = POLLIN, .revents = 0};
  const timespec none{};
  while (!call_.is_running && !over_) {
    if (system_call(SYS_ppoll, address(&wait), 1, address(&none)) <= 0) return;
    read_requests();
    read_request_lines();
  }
}

void Driver::start_bash(const char* bash, char** environment) {
  int commands[2];
  int reports[2];
  int own_writer = -1;
  if (system_call(SYS_pipe2, address(commands), O_CLOEXEC) < 0 ||
      system_call(SYS_pipe2, address(reports), O_CLOEXEC) < 0 ||
      outputs_.open("stdout", {}, own_writer) == nullptr) {
    leave(1);
  }
  commands_ = commands[1];
  reports_ = reports[0];
  reports_writer_ = reports[1];
  const long child = system_call(SYS_clone, SIGCHLD);
  if (child < 0) leave(1);
  if (child > 0) {
    bash_ = static_cast<int>(child);
    system_call(SYS_setpgid, child, child);
    close_fd(commands[0]);
    close_fd(own_writer);
    return;
  }
  // Bash does not outlive the driver, whatever it runs at that moment.
  system_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (system_call(SYS_getppid) != pid_) leave(1);
  system_call(SYS_setpgid, 0, 0);
  const std::uint64_t none = 0;
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, address(&none), 0, sizeof none);
  const long nothing =
      system_call(SYS_openat, AT_FDCWD, address("/dev/null"), O_WRONLY | O_CLOEXEC);
  system_call(SYS_dup3, commands[0], 0, 0);
  system_call(SYS_dup3, own_writer, 1, 0);
  system_call(SYS_dup3, nothing, 2, 0);  // for prompts
  const char* words[] = {"bash", "--norc", "--noprofile", "--noediting", "+H", "-i", nullptr};
  system_call(SYS_execve, address(bash), address(words), address(environment));
  leave(127);
}

[[noreturn]] void Driver::run(const char* bash, char** environment) {
  pid_ = static_cast<int>(system_call(SYS_getpid));
  // Daemons that a call starts stay below, so that a kill of the call finds them.
  system_call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  system_call(SYS_prctl, PR_SET_NAME, address("cay-shell"));
  // SIGPIPE: bash may have ended before a line for it is written, and SIGCHLD reports that.
  const std::uint64_t signals = 1ul << (SIGINT - 1) | 1ul << (SIGCHLD - 1) | 1ul << (SIGPIPE - 1);
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, address(&signals), 0, sizeof signals);
  // The line that starts this program ignores SIGINT, so that one that comes early ends nothing.
  const std::uint64_t as_usual[4] = {};  // the kernel's sigaction with SIG_DFL
  system_call(SYS_rt_sigaction, SIGINT, address(as_usual), 0, sizeof signals);
  signals_ = static_cast<int>(system_call(SYS_signalfd4, -1, address(&signals), sizeof signals,
                                          SFD_CLOEXEC | SFD_NONBLOCK));
  events_.begin({}, "ledger");
  events_.note();
  start_bash(bash, environment);
  write_all(commands_,
            "unset TMOUT MAILCHECK HISTFILE PROMPT_COMMAND; set +o history; PS1= PS2=\n");
  for (;;) {
    pollfd waits[kMostStreams + 3];
    Stream* whose[kMostStreams];
    const std::size_t streams = outputs_.wait_for(waits, whose);
    std::size_t count = streams;
    waits[count++] = {.fd = signals_, .events = POLLIN, .revents = 0};
    waits[count++] = {.fd = reports_, .events = POLLIN, .revents = 0};
    const bool confirms = confirmation_.size() > 0;
    if (!call_.is_running && !confirms)
      waits[count++] = {.fd = requests_, .events = POLLIN, .revents = 0};
    long due = call_.is_running ? call_.deadline : 0;
    if (call_.is_running && call_.next_step > 0 && (due == 0 || call_.next_step < due))
      due = call_.next_step;
    if (confirms) due = confirm_again_;
    timespec pause{};
    const long left = due - now_ms();
    if (left > 0) pause = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1'000'000};
    system_call(SYS_ppoll, address(waits), static_cast<long>(count), due > 0 ? address(&pause) : 0);
    for (std::size_t i = 0; i < streams; ++i) {
      if (waits[i].revents != 0) outputs_.read(*whose[i]);
    }
    if (waits[streams + 1].revents != 0) read_reports();
    if (waits[streams].revents != 0) read_signals();
    if (call_.is_running) step();
    if (confirmation_.size() > 0 && now_ms() >= confirm_again_) {
      interrupt_foreground(bash_);
      ask_to_confirm();
    }
    if (!call_.is_running && confirmation_.size() == 0) {
      take_request();
      if (call_.is_running && has_early_one_) interrupt();
      has_early_one_ = false;
    }
    if (over_ && !call_.is_running) {
      outputs_.drain_all();
      leave(0);
    }
  }
}

}  // namespace
}  // namespace cay::shell

void cay_shell_main(long* stack) {
  using namespace cay::shell;
  const long count = stack[0];
  char** const words = reinterpret_cast<char**>(stack + 1);
  if (count < 3) leave(2);
  system_call(SYS_unlinkat, AT_FDCWD, address(words[1]), 0);
  const long requests = system_call(SYS_fcntl, 0, F_DUPFD_CLOEXEC, 3);
  const long events = system_call(SYS_fcntl, 1, F_DUPFD_CLOEXEC, 3);
  const long ledger = system_call(SYS_fcntl, 2, F_DUPFD_CLOEXEC, 3);
  Driver driver(static_cast<int>(requests), static_cast<int>(events), static_cast<int>(ledger));
  driver.run(words[2], words + count + 1);
}
