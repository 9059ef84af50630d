// PassedTunnels: tunnels of one sandbox whose connected sockets its keeper hands over. Their bytes
// go straight between the daemon and the program inside. They are requested over connections of
// their own
// ("tunnel" in the HELLO), of which several are kept for the next tunnel.
#pragma once
#include <memory>
#include <set>
#include <vector>

#include "base/unique_fd.h"
#include "runtime/keeper/keeper_tunnels.h"
#include "runtime/keeper/persistent_link.h"
#include "runtime/native/wide_buffers.h"

namespace cay::runtime {

class PassedTunnels final : public LocalTunnels,
                            public std::enable_shared_from_this<PassedTunnels> {
 public:
  static constexpr std::size_t kMost = 256;  // connections at once, as with the keeper's own

  explicit PassedTunnels(std::shared_ptr<PersistentLink> line);
  ~PassedTunnels() override;

  Task<std::unique_ptr<core::Tunnel>> open(std::uint16_t port) override;
  void close(const Error& why) override;

 private:
  class Tunnel;
  struct Desk;  // a connection to the keeper, for one question at a time

  Task<std::unique_ptr<Desk>> free_desk();
  Task<UniqueFd> ask(Desk& desk, std::uint16_t port);

  std::shared_ptr<PersistentLink> line_;
  std::vector<std::unique_ptr<Desk>> idle_;
  std::set<Tunnel*> open_;
  WideBuffers wide_;
  std::size_t opening_ = 0;
  std::optional<Error> closed_;
};

}  // namespace cay::runtime
