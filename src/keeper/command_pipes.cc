#include "keeper/command_pipes.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "keeper/long_arguments.h"
#include "keeper/terminal.h"

namespace cay::keeper {
namespace {

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe", "start_failed");
  return std::make_pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

void set_nonblocking(const UniqueFd& fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);  // a new pipe or terminal has no other flag
}

}  // namespace

Result<void> CommandPipes::make(wire::StartCommand& request, Program& program) {
  pty_ = request.pty;
  if (request.shell_line) {
    CAY_TRY(auto line, put_line_into_file(request.argv));
    program.line_fd = line.get();
    child_ends_.push_back(std::move(line));
  }
  if (pty_) return make_terminal(program, request.rows, request.cols);
  return make_pipes(program, request.close_stdin);
}

Result<void> CommandPipes::make_pipes(Program& program, bool close_stdin) {
  CAY_TRY(auto in, make_pipe());
  CAY_TRY(auto out, make_pipe());
  CAY_TRY(auto err, make_pipe());
  for (const UniqueFd* ours : {&in.second, &out.first, &err.first}) set_nonblocking(*ours);
  program.stdio[0] = in.first.get();
  program.stdio[1] = out.second.get();
  program.stdio[2] = err.second.get();
  // A stdin that is closed from the start is a pipe at its end: /dev/null would be another file.
  if (!close_stdin) stdin_end_ = std::move(in.second);
  out_end_ = std::move(out.first);
  err_end_ = std::move(err.first);
  child_ends_.push_back(std::move(in.first));
  child_ends_.push_back(std::move(out.second));
  child_ends_.push_back(std::move(err.second));
  return {};
}

Result<void> CommandPipes::make_terminal(Program& program, std::uint16_t rows, std::uint16_t cols) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::from_errno(errno, "make a socket for the terminal", "start_failed");
  }
  terminal_end_.reset(ends[0]);
  child_ends_.push_back(UniqueFd(ends[1]));
  program.terminal = {
      .socket = ends[1], .devpts = shop_.context.devpts_fd, .rows = rows, .cols = cols};
  return {};
}

Result<void> CommandPipes::take_terminal() {
  if (!pty_) return {};
  CAY_TRY(out_end_, receive_terminal(terminal_end_.get()));
  terminal_end_.reset();
  stdin_end_.reset(::fcntl(out_end_.get(), F_DUPFD_CLOEXEC, 0));
  return {};
}

void CommandPipes::open(Tape& tape, const std::function<void(bool)>& on_bytes,
                        const std::function<void()>& on_eof) {
  const auto later = [this, on_eof] { shop_.loop.defer(on_eof); };
  out_ = std::make_unique<OutputPipe>(shop_.loop, std::move(out_end_), tape.out, on_bytes, later);
  if (!pty_)
    err_ = std::make_unique<OutputPipe>(shop_.loop, std::move(err_end_), tape.err, on_bytes, later);
  stdin_ = std::make_unique<StdinPipe>(shop_.loop, shop_.outbox, shop_.stdin_budget,
                                       std::move(stdin_end_), pty_);
}

bool CommandPipes::resize(std::uint16_t rows, std::uint16_t cols) {
  if (!out_->is_open()) return false;
  set_terminal_size(out_->fd(), rows, cols);
  return true;
}

void CommandPipes::drain() {
  out_->drain();
  if (err_) err_->drain();
}

}  // namespace cay::keeper
