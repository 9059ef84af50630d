// NativeLiveSandbox: the LiveSandbox port over a keeper's socket, UNIX or TCP.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/ports/runtime.h"
#include "runtime/native/command_reader.h"
#include "runtime/native/passed_tunnels.h"
#include "runtime/native/persistent_link.h"

namespace cay::runtime {

class NativeLiveSandbox final : public core::LiveSandbox {
 public:
  // `disk_reserve`: what commands' output leaves free on the spools' disk.
  // `readers`: where those of its commands are found; null: nobody looks for them.
  explicit NativeLiveSandbox(std::shared_ptr<PersistentLink> line, std::uint64_t disk_reserve = 0,
                             std::optional<SandboxNetwork> network = std::nullopt,
                             std::shared_ptr<OpenReaders> readers = nullptr)
      : line_(std::move(line)),
        tunnels_(std::make_shared<PassedTunnels>(line_)),
        disk_reserve_(disk_reserve),
        network_(std::move(network)),
        readers_(std::move(readers)) {}
  // Closes the connection: readers that are left fail with kLost; the keeper lives on.
  ~NativeLiveSandbox() override;

  std::optional<SandboxNetwork> network() const override { return network_; }
  Task<Command> start(CommandSpec spec) override;
  Task<std::unique_ptr<core::CommandReader>> attach(CommandId id,
                                                    core::OutputOffsets from) override;
  Task<void> write_stdin(CommandId id, Bytes data, bool more) override;
  Task<void> close_stdin(CommandId id) override;
  Task<void> kill(CommandId id, int signal, std::string by) override;
  Task<void> resize(CommandId id, PtySize size) override;
  Task<Command> command(CommandId id) override;
  Task<std::vector<Command>> commands() override;
  Task<void> forget(CommandId id) override;
  void on_commands(CommandHandlers handlers) override;
  bool keeps_notes() const override { return line_->theirs().notes; }
  Task<void> noted(NoteMark through) override;

  Task<FileInfo> stat(std::string path, FileAs as, bool follow) override;
  Task<core::FileStream> read(std::string path, FileAs as, core::ReadRange range) override;
  Task<FileInfo> write(std::string path, core::WriteOptions options,
                       std::unique_ptr<ByteSource> data) override;
  Task<std::vector<FileInfo>> list(std::string path, FileAs as) override;
  Task<void> make_directory(std::string path, FileAs as, std::uint32_t mode) override;
  Task<void> remove(std::string path, FileAs as, bool recursive) override;
  Task<void> rename(std::string from, std::string to, FileAs as) override;
  Task<GlobResult> glob(std::string root, std::string pattern, FileAs as,
                        std::uint32_t limit) override;
  Task<GrepResult> grep(std::string root, std::string text, std::string file_glob, FileAs as,
                        std::uint32_t limit) override;
  Task<std::unique_ptr<core::TreeSource>> read_tree(std::string path, FileAs as) override;
  Task<void> write_tree(std::string path, FileAs as,
                        std::unique_ptr<core::TreeSource> tree) override;

  Task<core::SandboxStats> stats() override;
  Task<void> pause() override;
  Task<void> resume() override;
  Task<std::unique_ptr<core::Tunnel>> open_tunnel(std::uint16_t port) override;

 private:
  std::shared_ptr<PersistentLink> line_;
  std::shared_ptr<PassedTunnels> tunnels_;
  std::uint64_t disk_reserve_ = 0;
  std::optional<SandboxNetwork> network_;
  std::shared_ptr<OpenReaders> readers_;
};

// A PersistentLink to the keeper of `sandbox_id` (empty: any) of `instance` (empty: any).
std::shared_ptr<PersistentLink> keeper_line(asio::any_io_executor loop, Dialer dial,
                                            wire::Hello hello, std::string sandbox_id,
                                            std::string instance);

// Asks the keeper to end everything inside, recording the ends. Does not wait longer than `limit`.
Task<void> polite_shutdown(std::shared_ptr<PersistentLink> line, Millis limit);

}  // namespace cay::runtime
