// KeeperCommands: the LiveCommands role over a keeper's connection.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/command_reader.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class KeeperCommands : public virtual core::LiveCommands {
 public:
  // `disk_reserve`: bytes of the spools' disk that commands' output leaves free.
  // `readers`: gets the readers of its commands; may be null.
  explicit KeeperCommands(std::shared_ptr<PersistentLink> line, std::uint64_t disk_reserve = 0,
                          std::shared_ptr<OpenReaders> readers = nullptr)
      : line_(std::move(line)), disk_reserve_(disk_reserve), readers_(std::move(readers)) {}

  Task<Command> start(CommandSpec spec) override;
  Task<std::unique_ptr<core::CommandReader>> attach(CommandId id,
                                                    core::OutputOffsets from) override;
  Task<Followed> start_attached(CommandSpec spec) override;
  Task<void> write_stdin(CommandId id, Bytes data, bool more) override;
  Task<Written> write_attached(CommandId id, Bytes data, core::OutputOffsets from) override;
  Task<void> close_stdin(CommandId id) override;
  Task<void> kill(CommandId id, int signal, std::string by) override;
  Task<void> resize(CommandId id, PtySize size) override;
  Task<Command> command(CommandId id) override;
  Task<std::vector<Command>> commands() override;
  Task<void> forget(CommandId id) override;
  void on_commands(CommandHandlers handlers) override;
  bool keeps_notes() const override { return line_->theirs().notes; }
  Task<void> noted(NoteMark through) override;

 private:
  wire::StartCommand request_of(const CommandSpec& spec) const;

  std::shared_ptr<PersistentLink> line_;
  std::uint64_t disk_reserve_ = 0;
  std::shared_ptr<OpenReaders> readers_;
};

}  // namespace cay::runtime
