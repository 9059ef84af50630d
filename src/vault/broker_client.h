// BrokerClient: core's vault port, by asking the broker over its socket. Each question has a connection of its own; a broker that is
// just starting again is waited for.
#pragma once
#include <cstdint>
#include <string>

#include "core/ports/vault.h"
#include "model/ids.h"
#include "wire/vault.h"

namespace cay::vault {

class BrokerClient final : public core::Vault {
 public:
  BrokerClient(asio::any_io_executor loop, const std::string& data) : loop_(std::move(loop)), path_(data + "/vault/daemon.sock") {}

  Task<std::string> public_key() override;
  Task<std::string> seal(SecretInfo about, std::string box) override;
  Task<core::Granted> grant(core::ProxyGrant grant) override;
  Task<void> revoke(SandboxId sandbox) override;
  Task<void> withdraw(TenantId tenant, std::string name, std::uint64_t least) override;
  Task<void> keep_only(std::vector<SandboxId> sandboxes) override;
  Task<void> begin_rotation() override;
  Task<std::string> reseal(StoredSecret secret) override;
  Task<void> end_rotation() override;

 private:
  Task<std::string> ask(wire::VaultAsk question);
  Task<wire::VaultAnswer> answer_to(wire::VaultAsk question);
  Task<core::Granted> grant_by(wire::VaultAsk question);
  // Taken where the question is put together, so that the one that was put together last is the newest, whatever its way.
  wire::VaultTurn next_turn() { return {daemon_, ++turns_}; }
  Task<std::string> ask_once(std::string question);
  Task<void> tell(wire::VaultAsk question);

  asio::any_io_executor loop_;
  std::string path_;
  const std::string daemon_ = new_uuid();
  std::uint64_t turns_ = 0;
};

}  // namespace cay::vault
