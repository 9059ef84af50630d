// BrokerClient: implements core's vault port by requests to the broker over its socket.
//
// A grant's routes are written for the gate before the request is sent, because the gate needs them
// also while no broker serves. The newer of two grants for one sandbox counts.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ports/vault.h"
#include "model/ids.h"
#include "vault/broker_requests.h"
#include "vault/gate_notices.h"
#include "wire/vault.h"

namespace cay::vault {

class BrokerClient final : public core::Vault {
 public:
  BrokerClient(asio::any_io_executor loop, std::string data, GateNotices::Notify notify_gate)
      : broker_(std::move(loop), data), notices_(std::move(data), std::move(notify_gate)) {}

  Task<std::string> public_key() override;
  Task<std::string> seal(SecretInfo about, std::string box) override;
  Task<core::Granted> grant(core::ProxyGrant grant) override;
  Task<void> revoke(SandboxId sandbox) override;
  Task<void> withdraw(TenantId tenant, std::string name, std::uint64_t least) override;
  Task<void> keep_only(std::vector<core::ProxyGrant> all) override;
  Task<void> attend(std::function<Task<void>()> send) override;
  Task<void> begin_rotation() override;
  Task<std::string> reseal(StoredSecret secret) override;
  Task<void> end_rotation() override;

 private:
  // These send a request whose routes were written when it was built. `written` is the result of
  // that write.
  Task<core::Granted> grant_by(wire::VaultAsk request, Result<bool> written);
  Task<void> take_back(wire::VaultAsk request, Result<bool> written);
  Task<void> send_all(wire::VaultAsk request, Result<void> written);
  // Called when a request is built, so that the request that was built last is the newest, whatever
  // its path.
  wire::VaultTurn next_turn() { return {daemon_, ++turns_}; }

  BrokerRequests broker_;
  GateNotices notices_;
  const std::string daemon_ = new_uuid();
  std::uint64_t turns_ = 0;
};

}  // namespace cay::vault
