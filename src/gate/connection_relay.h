// ConnectionRelay: moves an allowed connection's bytes, and judges what the client sends later
// where that could make it a connection to another host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "async/task.h"
#include "gate/egress_state.h"
#include "gate/proxied_connection.h"

namespace cay::gate {

class ConnectionRelay {
 public:
  // The bytes that the client had sent when the connection was allowed.
  struct FirstBytes {
    std::string bytes;
    Proof proof = Proof::kNone;  // how they named the host
    std::size_t proof_size = 0;  // how many of them that took
  };

  // `state` outlives the relay.
  ConnectionRelay(EgressState& state, std::shared_ptr<ProxiedConnection> connection)
      : state_(state), connection_(std::move(connection)) {}

  // Moves both directions until both have ended or one broke.
  asio::awaitable<void> run(FirstBytes first, Buffers buffers);

 private:
  // How the client's direction goes on.
  enum class Then : std::uint8_t { kMoveAll, kEnded, kRefused, kAnswered, kBroken };

  // Sends bytes to the server. Returns kMoveAll or kBroken.
  asio::awaitable<Then> send(std::string bytes);
  asio::awaitable<Then> send_first(FirstBytes first);

  // Relays requests one by one, each judged by its Host. `passed`: bytes that the server has.
  asio::awaitable<Then> relay_requests(std::string first, std::size_t passed = 0);
  asio::awaitable<void> until_answered(std::string behind, std::uint64_t before);
  // Relays a ClientHello, and a second one if the server requests it.
  asio::awaitable<Then> relay_hellos(std::string first, std::size_t hello_size,
                                     std::size_t passed = 0);
  // Passes bytes on until they name a host or prove to be another protocol (detect_protocol.h).
  asio::awaitable<Then> inspect_late(std::string bytes);
  // Judges the host that `first` names, and relays what follows. `passed`: as above.
  asio::awaitable<Then> relay_named(Proof proof, std::string first, std::size_t passed);
  asio::awaitable<Then> answer_refused(const char* reason, const std::string& host,
                                       const std::string& first);

  // Whether the connection may be used for this host too. Returns null, or the reason word, which
  // has a line then.
  asio::awaitable<const char*> why_not_for(std::string host);
  // Writes a line and returns `reason`.
  const char* refuse(const std::string& host, const char* reason, const std::string& rule = {});
  const ConnectionRecord::Host& current_host() const { return connection_->record.hosts.back(); }

  EgressState& state_;
  const std::shared_ptr<ProxiedConnection> connection_;
};

}  // namespace cay::gate
