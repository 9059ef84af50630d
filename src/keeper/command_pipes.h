// CommandPipes: a command's stdin, stdout and stderr, or its terminal. It makes them for the start,
// and spools the output from then on.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/output_pipe.h"
#include "keeper/stdin_pipe.h"
#include "keeper/tape.h"
#include "keeper/command_context.h"

namespace cay::keeper {

class CommandPipes {
 public:
  explicit CommandPipes(const CommandContext& shop) : shop_(shop) {}

  // Enters the child's ends into `program`. A shell line goes from the request's argv into a file
  // that the child gets as well.
  Result<void> make(wire::StartCommand& request, Program& program);
  // The start is over.
  void close_child_ends() { child_ends_.clear(); }
  // After a start: receives the keeper's side of the terminal, if the command has one.
  Result<void> take_terminal();
  // Spools all output to `tape`. `on_bytes(layout_changed)` runs after bytes were spooled, `on_eof`
  // from the loop when nobody can write to one of the streams.
  void open(Tape& tape, const std::function<void(bool)>& on_bytes,
            const std::function<void()>& on_eof);

  StdinPipe& input() { return *stdin_; }
  bool is_terminal() const { return pty_; }
  // Returns false if the terminal is closed.
  bool resize(std::uint16_t rows, std::uint16_t cols);
  // Spools all that was written so far.
  void drain();
  // Whether somebody holds the output open: after the leader's end, its children.
  bool has_writers() const { return out_->is_open() || (err_ && err_->is_open()); }

 private:
  Result<void> make_pipes(Program& program, bool close_stdin);
  Result<void> make_terminal(Program& program, std::uint16_t rows, std::uint16_t cols);

  const CommandContext& shop_;
  bool pty_ = false;
  std::vector<UniqueFd> child_ends_;  // given to the child, closed once it runs
  UniqueFd stdin_end_, out_end_, err_end_;
  UniqueFd terminal_end_;  // the child sends the terminal's keeper side here
  std::unique_ptr<OutputPipe> out_, err_;
  std::unique_ptr<StdinPipe> stdin_;
};

}  // namespace cay::keeper
