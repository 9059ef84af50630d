// BrokerRequests: sends the daemon's requests to the broker over its socket.
//
// Each request has a connection of its own, and waits some seconds for a broker that is starting.
// All fail kUnavailable (vault_unavailable, vault_locked), or with the broker's own error.
#pragma once
#include <functional>
#include <string>

#include "async/task.h"
#include "wire/vault.h"

namespace cay::vault {

class BrokerRequests {
 public:
  // `data` is the data directory.
  BrokerRequests(asio::any_io_executor loop, const std::string& data)
      : loop_(std::move(loop)), path_(data + "/vault/daemon.sock") {}

  Task<wire::VaultAnswer> response(wire::VaultAsk request);
  Task<std::string> bytes(wire::VaultAsk request);  // returns the response's bytes
  Task<void> done(wire::VaultAsk request);          // for requests whose response is empty
  // Runs `send` when a broker answers, and returns when that broker is gone.
  Task<void> attend(std::function<Task<void>()> send);

 private:
  Task<std::string> send_once(std::string request);

  asio::any_io_executor loop_;
  const std::string path_;
};

}  // namespace cay::vault
