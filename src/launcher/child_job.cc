#include "launcher/child_job.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace cay::launcher {
namespace {

bool is_final(std::uint16_t type) {
  switch (static_cast<wire::Type>(type)) {
    case wire::Type::kOk:
    case wire::Type::kError:
    case wire::Type::kEof:
    case wire::Type::kLayer:
    case wire::Type::kSnapshot: return true;
    default: return false;
  }
}

}  // namespace

Result<std::unique_ptr<ChildJob>> ChildJob::start(Poller& poller, Outbox& outbox, const Work& work,
                                                  std::function<void()> on_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe");
  std::unique_ptr<ChildJob> job(new ChildJob(poller, outbox, std::move(on_end)));
  job->pipe_ = UniqueFd(ends[0]);
  UniqueFd write_end(ends[1]);
  CAY_TRY(os::Cloned child, os::clone_process(0));
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // its listeners end with the worker
    const int out = write_end.get();
    work([out](wire::Type type, std::string payload) {
      const std::string bytes =
          wire::encode_frame({static_cast<std::uint16_t>(type), 0, 0, std::move(payload)});
      std::string_view rest = bytes;
      while (!rest.empty()) {
        const ssize_t n = ::write(out, rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) ::_exit(1);
        rest.remove_prefix(static_cast<std::size_t>(n));
      }
    });
    ::_exit(0);
  }
  job->pid_ = child.pid;
  job->pidfd_ = std::move(child.pidfd);
  ::fcntl(job->pipe_.get(), F_SETFL, O_NONBLOCK);
  ChildJob* self = job.get();
  poller.watch(job->pipe_.get(), EPOLLIN, [self](std::uint32_t) { self->on_readable(); });
  return job;
}

ChildJob::~ChildJob() {
  poller_.forget(pipe_.get());
  if (pid_ == 0) return;
  os::kill_process(pidfd_.get());
  ::waitpid(pid_, nullptr, 0);
}

void ChildJob::on_readable() {
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t n = ::read(pipe_.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    if (n == 0) break;
    reader_.feed({buffer, static_cast<std::size_t>(n)});
    relay();
  }
  if (!answered_) {
    for (const ReplyTo& to : listeners_) {
      reply_error(
          outbox_, to,
          Error{Code::kInternal, "job_died", "the process that did this work died: retry", 0});
    }
  }
  const auto on_end = std::move(on_end_);
  on_end();  // `this` may be gone now
}

void ChildJob::relay() {
  while (auto frame = reader_.next()) {
    if (answered_) return;
    answered_ = is_final(frame->type);
    for (const ReplyTo& to : listeners_) {
      frame->channel = to.channel;
      outbox_.send(to.connection, *frame);
    }
  }
}

}  // namespace cay::launcher
