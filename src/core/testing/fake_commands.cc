#include "core/testing/fake_commands.h"

#include <csignal>

namespace cay::core::testing {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::int64_t kFirstPid = 100;

StreamExtent& extent(FakeCommand& command, Stream stream) {
  return stream == Stream::kStdout ? command.state.out : command.state.err;
}

// Two starts with one id are the same request if these agree.
bool same_request(const CommandSpec& a, const CommandSpec& b) {
  return a.argv == b.argv && a.run == b.run && a.pty == b.pty && a.timeout_ms == b.timeout_ms;
}

}  // namespace

CommandEnd exited(int code) {
  CommandEnd end;
  end.state = CommandState::kExited;
  end.exit_code = code;
  return end;
}

CommandEnd ended(CommandState state, int signal) {
  CommandEnd end;
  end.state = state;
  end.signal = signal;
  return end;
}

// Serves a command's pieces from the wanted offsets on.
class FakeReader : public CommandReader {
 public:
  FakeReader(std::shared_ptr<FakeCommands> commands, FakeCommand& command, OutputOffsets from)
      : commands_(std::move(commands)), command_(command.state), from_(from) {
    ++command.readers;
  }
  ~FakeReader() override {
    const auto found = commands_->table.find(command_.id);
    if (found == commands_->table.end()) return;
    if (--found->second.readers > 0 || !found->second.spec.kill_on_disconnect) return;
    CommandEnd how = ended(CommandState::kKilled, SIGKILL);
    how.by = "disconnect";
    commands_->end(command_.id, how);
  }

  const Command& command() const override { return command_; }

  Task<OutputEvent> next() override {
    for (;;) {
      auto event = ready();
      if (!event) co_return std::move(event).error();
      if (*event) co_return **std::move(event);
      co_await commands_->changed_.wait();
    }
  }

 private:
  // The next event, or nothing yet.
  Result<std::optional<OutputEvent>> ready() {
    using Maybe = std::optional<OutputEvent>;
    const auto found = commands_->table.find(command_.id);
    if (ended_) return Error{Code::kOutOfRange, "stream_ended", "the command's output has ended"};
    if (found == commands_->table.end()) {
      return Error{Code::kNotFound, "unknown_command",
                   "command " + command_.id.get() + " was forgotten"};
    }
    const FakeCommand& command = found->second;
    while (piece_ < command.pieces.size()) {
      const FakeCommand::Piece& piece = command.pieces[piece_];
      const std::uint64_t length = piece.gap ? piece.length : piece.bytes.size();
      std::uint64_t& from = piece.stream == Stream::kStdout ? from_.out : from_.err;
      if (piece.offset + length <= from) {
        ++piece_;
        continue;
      }
      const std::uint64_t skip = from - piece.offset;
      if (piece.gap) {
        from = piece.offset + length;
        return Maybe(OutputGap{piece.stream, piece.offset + skip, length - skip});
      }
      OutputData data;
      data.stream = piece.stream;
      data.offset = from;
      data.bytes = piece.bytes.substr(skip, kChunk);
      const StreamExtent& whole =
          piece.stream == Stream::kStdout ? command.state.out : command.state.err;
      data.after_end =
          command.state.end.state != CommandState::kRunning && from >= whole.end_offset;
      from += data.bytes.size();
      return Maybe(std::move(data));
    }
    if (command.state.end.state != CommandState::kRunning) {
      ended_ = true;
      return Maybe(OutputEnd{command.state});
    }
    CAY_CHECK(commands_->alive());
    return Maybe();
  }

  std::shared_ptr<FakeCommands> commands_;
  Command command_;
  OutputOffsets from_;
  std::size_t piece_ = 0;
  bool ended_ = false;
};

FakeCommands::FakeCommands(asio::any_io_executor loop, std::function<UnixMillis()> now)
    : program([](const CommandSpec&) { return FakeProgram{{}, exited(0), {}, false, false}; }),
      loop_(loop),
      now_(std::move(now)),
      changed_(loop) {}

Result<void> FakeCommands::alive() const {
  if (dead_) return Error{Code::kLost, "keeper_lost", *dead_};
  return {};
}

Result<FakeCommand*> FakeCommands::find(const CommandId& id) {
  CAY_CHECK(alive());
  const auto found = table.find(id);
  if (found == table.end())
    return Error{Code::kNotFound, "unknown_command", "no command " + id.get()};
  return &found->second;
}

void FakeCommands::emit(const CommandId& id, Stream stream, Bytes bytes) {
  FakeCommand& command = table.at(id);
  StreamExtent& whole = extent(command, stream);
  FakeCommand::Piece piece;
  piece.stream = stream;
  piece.offset = whole.bytes;
  whole.bytes += bytes.size();
  piece.bytes = std::move(bytes);
  command.pieces.push_back(std::move(piece));
  changed_.notify();
}

void FakeCommands::drop(const CommandId& id, Stream stream, std::uint64_t length) {
  FakeCommand& command = table.at(id);
  StreamExtent& whole = extent(command, stream);
  FakeCommand::Piece piece;
  piece.stream = stream;
  piece.offset = whole.bytes;
  piece.gap = true;
  piece.length = length;
  whole.gap_begin = whole.bytes;
  whole.bytes += length;
  whole.gap_end = whole.bytes;
  command.pieces.push_back(std::move(piece));
  changed_.notify();
}

void FakeCommands::end(const CommandId& id, CommandEnd how) {
  FakeCommand& command = table.at(id);
  if (command.state.end.state != CommandState::kRunning) return;  // one terminal state, the first
  how.ended_at = now_();
  command.state.end = std::move(how);
  command.state.out.end_offset = command.state.out.bytes;
  command.state.err.end_offset = command.state.err.bytes;
  changed_.notify();
  tell(command.state);
}

void FakeCommands::tell(const Command& command) {
  if (keeps_notes) {
    notes.emplace_back(NoteMark{life, ++told_}, command);
    const auto note = notes.back();
    if (on_note) on_note(note.first, note.second);
  } else if (command.end.state != CommandState::kRunning && on_end) {
    on_end(command);
  }
}

void FakeCommands::listen(std::function<void(const Command&)> end,
                          std::function<void(NoteMark, const Command&)> note) {
  on_end = std::move(end);
  on_note = std::move(note);
  for (const auto& [mark, command] : std::vector(notes)) on_note(mark, command);
}

void FakeCommands::end_all(const std::string& by) {
  for (auto& [id, command] : table) {
    CommandEnd how = ended(CommandState::kKilled, SIGKILL);
    how.by = by;
    end(id, how);
  }
}

void FakeCommands::die(const std::string& reason) {
  dead_ = reason;
  changed_.notify();
}

Result<Command> FakeCommands::start(CommandSpec spec) {
  CAY_CHECK(alive());
  const auto known = table.find(spec.id);
  if (known != table.end()) {
    if (!spec.ignore_mismatch && !same_request(known->second.spec, spec)) {
      return Error{Code::kConflict, "command_mismatch",
                   "command " + spec.id.get() + " exists with another request: use a new id"};
    }
    Command state = known->second.state;
    state.known = true;
    return state;
  }
  FakeCommand command;
  command.program = program(spec);
  if (command.program.refuse) return *command.program.refuse;
  command.state.id = spec.id;
  command.state.argv = spec.argv;
  command.state.pid = kFirstPid + static_cast<std::int64_t>(table.size());
  command.state.pty = spec.pty.has_value();
  command.state.started_at = now_();
  command.state.cwd = spec.run.workdir.value_or("/");
  command.state.user = spec.run.user.value_or("root");
  command.state.timeout_ms = spec.timeout_ms;
  command.state.mark = spec.mark;
  command.state.trace = spec.trace;
  command.stdin_closed = spec.close_stdin;
  command.size = spec.pty;
  command.spec = spec;
  started.push_back(spec);
  const CommandId id = spec.id;
  const FakeProgram script = command.program;
  table[id] = std::move(command);
  if (keeps_notes) tell(table.at(id).state);
  for (const auto& chunk : script.output) emit(id, chunk.stream, chunk.bytes);
  if (script.end) {
    end(id, *script.end);
  } else if (script.echo_stdin && spec.close_stdin) {
    end(id, exited(0));
  }
  return table.at(id).state;
}

Result<std::unique_ptr<CommandReader>> FakeCommands::attach(const CommandId& id,
                                                            OutputOffsets from) {
  CAY_TRY(FakeCommand * command, find(id));
  if (from.out > command->state.out.bytes || from.err > command->state.err.bytes) {
    return Error{Code::kOutOfRange, "offset_past_end",
                 "the output is shorter than the offset asked for"};
  }
  return std::unique_ptr<CommandReader>(
      std::make_unique<FakeReader>(shared_from_this(), *command, from));
}

Result<void> FakeCommands::write_stdin(const CommandId& id, Bytes data) {
  CAY_TRY(FakeCommand * command, find(id));
  if (command->program.stdin_error) return *command->program.stdin_error;
  if (command->stdin_closed || command->state.end.state != CommandState::kRunning) {
    return Error{Code::kNotReady, "stdin_closed", "the command's standard input is closed"};
  }
  command->stdin_bytes += data;
  if (command->program.echo_stdin) emit(id, Stream::kStdout, std::move(data));
  return {};
}

Result<void> FakeCommands::close_stdin(const CommandId& id) {
  CAY_TRY(FakeCommand * command, find(id));
  command->stdin_closed = true;
  if (command->program.echo_stdin) end(id, exited(0));
  return {};
}

Result<void> FakeCommands::kill(const CommandId& id, int signal, const std::string& by) {
  CAY_TRY(FakeCommand * command, find(id));
  command->signals.push_back(signal);
  if (signal == 0) {
    CommandEnd how = ended(CommandState::kKilled, SIGKILL);
    how.by = by;
    end(id, how);
  } else if (!command->program.ignores_signals) {
    CommandEnd how = ended(CommandState::kKilled, signal);
    how.by = by;
    end(id, how);
  }
  return {};
}

Result<void> FakeCommands::resize(const CommandId& id, PtySize size) {
  CAY_TRY(FakeCommand * command, find(id));
  if (!command->state.pty)
    return Error{Code::kInvalidArgument, "not_a_pty", "the command has no terminal"};
  command->size = size;
  return {};
}

Result<Command> FakeCommands::get(const CommandId& id) const {
  CAY_CHECK(alive());
  const auto found = table.find(id);
  if (found == table.end())
    return Error{Code::kNotFound, "unknown_command", "no command " + id.get()};
  return found->second.state;
}

Result<std::vector<Command>> FakeCommands::list() const {
  CAY_CHECK(alive());
  std::vector<Command> out;
  for (const auto& [id, command] : table) out.push_back(command.state);
  return out;
}

Result<void> FakeCommands::forget(const CommandId& id) {
  CAY_TRY(FakeCommand * command, find(id));
  if (command->state.end.state == CommandState::kRunning) {
    return Error{Code::kNotReady, "command_running", "the command runs: kill it first"};
  }
  table.erase(id);
  return {};
}

}  // namespace cay::core::testing
