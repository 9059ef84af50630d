#include "providers/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "async/event.h"
#include "base/unique_fd.h"

namespace cay::providers {
namespace {

using Descriptor = asio::posix::stream_descriptor;

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The attributes and the steps between fork and exec.
class SpawnPlan {
 public:
  SpawnPlan(int in, int out, bool merge_stderr, const std::string& workdir) {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawn_file_actions_adddup2(&actions_, in, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, out, 1);
    if (merge_stderr) ::posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    if (!workdir.empty()) {
      ::posix_spawn_file_actions_addchdir_np(&actions_, workdir.c_str());
    }
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // 0, or an errno.
  int spawn(pid_t& pid, std::vector<std::string> argv, std::vector<std::string> env) {
    auto arguments = pointers(argv);
    auto variables = pointers(env);
    return ::posix_spawnp(&pid, arguments.front(), &actions_, &attributes_, arguments.data(),
                          variables.data());
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

// write(2) to a pipe that may have no reader: EPIPE, without the signal that would end this
// program.
ssize_t write_quietly(int fd, std::string_view bytes) {
  sigset_t broken, former, pending;
  ::sigemptyset(&broken);
  ::sigaddset(&broken, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &broken, &former);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  const int err = errno;
  if (written < 0 && err == EPIPE && !was_pending) {
    const timespec now{0, 0};
    ::sigtimedwait(&broken, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  errno = err;
  return written;
}

Error not_started(const std::string& program, int err) {
  return {Code::kUnavailable, "child_not_started",
          "'" + program + "' could not be started: " + std::strerror(err), err};
}

}  // namespace

struct ChildProcess::Impl {
  Impl(const asio::any_io_executor& executor, pid_t child)
      : pid(child), out(executor), in(executor), process(executor) {}
  ~Impl() {
    if (pid > 0 && !reaped) {
      ::kill(-pid, SIGKILL);
      int status = 0;
      ::waitpid(pid, &status, 0);
    }
  }

  pid_t pid;
  bool reaped = false;
  Descriptor out, in, process;
};

ChildProcess::ChildProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChildProcess::~ChildProcess() = default;

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(asio::any_io_executor executor,
                                                          ChildOptions options) {
  CAY_TRY(Pipe out, make_pipe());
  CAY_TRY(Pipe in, make_pipe());
  if (options.argv.empty()) return not_started("", EINVAL);
  SpawnPlan plan(in.read.get(), out.write.get(), options.merge_stderr, options.workdir);
  pid_t pid = 0;
  const std::string program = options.argv.front();
  const int failed = plan.spawn(pid, std::move(options.argv), std::move(options.env));
  if (failed != 0) return not_started(program, failed);
  auto impl = std::make_unique<Impl>(executor, pid);
  const long pidfd = ::syscall(SYS_pidfd_open, pid, 0U);
  if (pidfd < 0) return not_started(program, errno);
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
  impl->process.assign(static_cast<int>(pidfd));
  impl->out.assign(out.read.release());
  if (!options.stdin_at_end) impl->in.assign(in.write.release());
  return std::unique_ptr<ChildProcess>(new ChildProcess(std::move(impl)));
}

Task<std::string> ChildProcess::read() {
  std::string buffer(64 * 1024, '\0');
  boost::system::error_code failed;
  const auto got = co_await impl_->out.async_read_some(
      asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::operation_aborted) {
    co_await throw_if_cancelled();
  }
  buffer.resize(failed ? 0 : got);
  co_return buffer;
}

Task<void> ChildProcess::write(std::string bytes) {
  std::string_view rest = bytes;
  int err = impl_->in.is_open() ? 0 : EBADF;
  while (err == 0 && !rest.empty()) {
    const ssize_t written = write_quietly(impl_->in.native_handle(), rest);
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      boost::system::error_code failed;
      co_await impl_->in.async_wait(Descriptor::wait_write,
                                    asio::redirect_error(asio::use_awaitable, failed));
      co_await throw_if_cancelled();
      if (failed) err = EBADF;
    } else if (errno != EINTR) {
      err = errno;
    }
  }
  if (err == 0) co_return Result<void>();
  co_return Error{Code::kNotReady, "stdin_closed",
                  std::string("the program reads no input: ") + std::strerror(err), err};
}

void ChildProcess::close_stdin() {
  boost::system::error_code ignored;
  impl_->in.close(ignored);
}

Task<ChildEnd> ChildProcess::wait() {
  boost::system::error_code failed;
  co_await impl_->process.async_wait(Descriptor::wait_read,
                                     asio::redirect_error(asio::use_awaitable, failed));
  if (failed) {
    co_await throw_if_cancelled();
    co_return Error{Code::kInternal, "child_lost", "the end of a program is unknown", 0};
  }
  int status = 0;
  const pid_t got = ::waitpid(impl_->pid, &status, 0);
  impl_->reaped = true;
  ChildEnd end;
  if (got != impl_->pid) {
    co_return Error{Code::kInternal, "child_lost", "the end of a program is unknown", 0};
  }
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  co_return end;
}

void ChildProcess::kill() {
  if (!impl_->reaped) ::kill(-impl_->pid, SIGKILL);
}

int ChildProcess::pid() const { return impl_->pid; }

std::vector<std::string> harmless_environment() {
  std::vector<std::string> out;
  for (const char* name :
       {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) out.push_back(std::string(name) + "=" + value);
  }
  return out;
}

}  // namespace cay::providers
