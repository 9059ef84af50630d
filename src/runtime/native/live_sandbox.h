// NativeLiveSandbox: the LiveSandbox port over a keeper's socket, UNIX or TCP.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/ports/runtime.h"
#include "runtime/native/keeper_commands.h"
#include "runtime/native/keeper_files.h"
#include "runtime/native/keeper_state.h"
#include "runtime/native/passed_tunnels.h"
#include "runtime/native/persistent_link.h"

namespace cay::runtime {

class NativeLiveSandbox final : public core::LiveSandbox,
                                public KeeperCommands,
                                public KeeperFiles,
                                public KeeperState {
 public:
  // `network`: the way out that its start gave it. The others: see KeeperCommands.
  explicit NativeLiveSandbox(std::shared_ptr<PersistentLink> line, std::uint64_t disk_reserve = 0,
                             std::optional<SandboxNetwork> network = std::nullopt,
                             std::shared_ptr<OpenReaders> readers = nullptr);
  // Closes the connection: readers that are left fail with kLost; the keeper lives on.
  ~NativeLiveSandbox() override;

  std::optional<SandboxNetwork> network() const override { return network_; }
  Task<std::unique_ptr<core::Tunnel>> open_tunnel(std::uint16_t port) override;

 private:
  std::shared_ptr<PersistentLink> line_;
  std::shared_ptr<PassedTunnels> tunnels_;
  std::optional<SandboxNetwork> network_;
};

// A PersistentLink to the keeper of `sandbox_id` (empty: any) of `instance` (empty: any). `key`: by
// which both sides prove themselves over TCP.
std::shared_ptr<PersistentLink> keeper_line(asio::any_io_executor loop, Dialer dial,
                                            wire::Hello hello, std::string sandbox_id,
                                            std::string instance, std::string key = {});

// Asks the keeper to end everything inside, recording the ends. Does not wait longer than `limit`.
Task<void> polite_shutdown(std::shared_ptr<PersistentLink> line, Millis limit);

}  // namespace cay::runtime
