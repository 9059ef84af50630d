// KeeperSandbox: the LiveSandbox port over a keeper's connection, wherever that keeper runs.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/keeper_commands.h"
#include "runtime/keeper/keeper_file_changes.h"
#include "runtime/keeper/keeper_files.h"
#include "runtime/keeper/keeper_layers.h"
#include "runtime/keeper/keeper_state.h"
#include "runtime/keeper/keeper_tunnels.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

// A runtime may add these to a keeper's connection.
struct KeeperExtras {
  std::shared_ptr<OpenReaders> readers{};   // gets the readers of the commands
  std::shared_ptr<LocalTunnels> tunnels{};  // see KeeperTunnels
  std::uint64_t disk_reserve = 0;           // see KeeperCommands
  std::optional<SandboxNetwork> network{};  // the way out that its start gave it
};

class KeeperSandbox final : public core::LiveSandbox,
                            public KeeperCommands,
                            public KeeperFiles,
                            public KeeperFileChanges,
                            public KeeperLayers,
                            public KeeperTunnels,
                            public KeeperState {
 public:
  explicit KeeperSandbox(std::shared_ptr<PersistentLink> line, KeeperExtras extras = {});
  // Closes the connection: readers that are left fail with kLost; the keeper lives on.
  ~KeeperSandbox() override;

  std::optional<SandboxNetwork> network() const override { return network_; }
  bool has_hung_up() const override { return line_->hung_up(); }

 private:
  std::shared_ptr<PersistentLink> line_;
  std::shared_ptr<LocalTunnels> tunnels_;
  std::optional<SandboxNetwork> network_;
};

// The way to a keeper, and the identity that it must have.
struct KeeperAddress {
  Dialer dial;
  std::string sandbox_id{};  // empty: any
  std::string instance{};    // empty: any
  std::string key{};         // that both sides prove (wire/hello_proof.h); empty: no proof
};

// Returns a link to that keeper, not started. `hello` is ours.
std::shared_ptr<PersistentLink> keeper_line(asio::any_io_executor loop, KeeperAddress keeper,
                                            wire::Hello hello);

// Requests that the keeper ends everything inside, recording the ends. Does not wait longer than
// `limit`.
Task<void> polite_shutdown(std::shared_ptr<PersistentLink> line, Millis limit);

}  // namespace cay::runtime
