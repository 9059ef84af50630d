// FakeCommands: the commands of one fake sandbox. Tests set a program's output and its end
// beforehand
// (`program`) or while it runs (emit, end).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "core/ports/runtime.h"

namespace cay::core::testing {

// An end by exit(code), for `FakeProgram::end`.
CommandEnd exited(int code);
CommandEnd ended(CommandState state, int signal = 0);

// The behaviour of a fake program.
struct FakeProgram {
  struct Chunk {
    Stream stream = Stream::kStdout;
    Bytes bytes;
  };
  std::vector<Chunk> output;           // written at once, in this order
  std::optional<CommandEnd> end;       // absent: runs on until emit/end/kill
  std::optional<Error> refuse;         // start() fails with it
  bool echo_stdin = false;             // like cat: stdin comes back on stdout; exits 0 at its end
  bool ignores_signals = false;        // only kill(0) ends it
  std::optional<Error> stdin_error{};  // what is written to it fails with it
};

// One command, open to tests.
struct FakeCommand {
  struct Piece {
    Stream stream = Stream::kStdout;
    std::uint64_t offset = 0;
    Bytes bytes;
    bool gap = false;  // `length` bytes were dropped
    std::uint64_t length = 0;
  };
  CommandSpec spec;
  FakeProgram program;
  Command state;
  std::vector<Piece> pieces;  // the whole output, in order of writing
  Bytes stdin_bytes;
  bool stdin_closed = false;
  std::vector<int> signals;     // sent by kill()
  std::optional<PtySize> size;  // last resize
  int readers = 0;              // attached now
};

class FakeCommands : public std::enable_shared_from_this<FakeCommands> {
 public:
  FakeCommands(asio::any_io_executor loop, std::function<UnixMillis()> now);

  // The program that start() runs for a spec. The default prints nothing and exits 0.
  std::function<FakeProgram(const CommandSpec&)> program;
  std::function<void(const Command&)> on_end;  // LiveSandbox::CommandHandlers, as is on_note
  std::function<void(NoteMark, const Command&)> on_note;
  bool keeps_notes = false;                         // then notes are sent instead of ends
  std::uint64_t life = 7;                           // of its keeper
  std::vector<std::pair<NoteMark, Command>> notes;  // not noted() yet
  void count_anew() { told_ = 0; }
  // Connects: notes without a confirmation are sent again.
  void listen(std::function<void(const Command&)> end,
              std::function<void(NoteMark, const Command&)> note);
  std::vector<CommandSpec> started;  // every start() that made a command
  std::map<CommandId, FakeCommand> table;

  // Test's hand on a running command.
  void emit(const CommandId& id, Stream stream, Bytes bytes);
  void drop(const CommandId& id, Stream stream, std::uint64_t length);  // a gap of the spool
  void end(const CommandId& id, CommandEnd how);
  // Every running command ends as killed by `by`.
  void end_all(const std::string& by);
  // Readers and calls fail from now on; running commands are lost.
  void die(const std::string& reason);
  void revive() { dead_.reset(); }

  Result<Command> start(CommandSpec spec);
  Result<std::unique_ptr<CommandReader>> attach(const CommandId& id, OutputOffsets from);
  Result<void> write_stdin(const CommandId& id, Bytes data);
  bool more_stdin = false;  // of the last write
  Result<void> close_stdin(const CommandId& id);
  Result<void> kill(const CommandId& id, int signal, const std::string& by);
  Result<void> resize(const CommandId& id, PtySize size);
  Result<Command> get(const CommandId& id) const;
  Result<std::vector<Command>> list() const;
  Result<void> forget(const CommandId& id);
  Result<void> alive() const;

 private:
  friend class FakeReader;
  void tell(const Command& command);
  std::uint64_t told_ = 0;
  Result<FakeCommand*> find(const CommandId& id);
  asio::any_io_executor loop_;
  std::function<UnixMillis()> now_;
  Event changed_;
  std::optional<std::string> dead_;
};

}  // namespace cay::core::testing
