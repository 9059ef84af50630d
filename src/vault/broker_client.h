// BrokerClient: core's vault port, by asking the broker over its socket. Each question has a
// connection of its own; a broker that is just starting again is waited for. What the gate is to
// know of rules also without a broker is written before the broker is asked.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ports/vault.h"
#include "model/ids.h"
#include "wire/vault.h"

namespace cay::vault {

class BrokerClient final : public core::Vault {
 public:
  // Says to a gate that serves that something was written of the sandbox.
  using TellGate = std::function<Task<void>(SandboxId)>;
  BrokerClient(asio::any_io_executor loop, std::string data, TellGate tell_gate)
      : loop_(std::move(loop)),
        data_(std::move(data)),
        path_(data_ + "/vault/daemon.sock"),
        tell_gate_(std::move(tell_gate)) {}

  Task<std::string> public_key() override;
  Task<std::string> seal(SecretInfo about, std::string box) override;
  Task<core::Granted> grant(core::ProxyGrant grant) override;
  Task<void> revoke(SandboxId sandbox) override;
  Task<void> withdraw(TenantId tenant, std::string name, std::uint64_t least) override;
  Task<void> keep_only(std::vector<core::ProxyGrant> all) override;
  Task<void> attend(std::function<Task<void>()> tell) override;
  Task<void> begin_rotation() override;
  Task<std::string> reseal(StoredSecret secret) override;
  Task<void> end_rotation() override;

 private:
  Task<std::string> ask(wire::VaultAsk question);
  Task<wire::VaultAnswer> answer_to(wire::VaultAsk question);
  // What the gate is to know of rules is written where the question is put together
  // (routes_file.h): of two the newer one stays. `written`: how that went.
  Task<core::Granted> grant_by(wire::VaultAsk question, Result<bool> written);
  Task<void> take_back(wire::VaultAsk question, Result<bool> written);
  Task<void> tell_only(wire::VaultAsk question, Result<void> written);
  // For whom the gate is to be told. What cannot be written of one keeps no other waiting.
  Result<void> write_only(const std::vector<core::ProxyGrant>& all);
  asio::awaitable<void> tell_gate(std::string sandbox_id);
  // Taken where the question is put together, so that the one that was put together last is the
  // newest, whatever its way.
  wire::VaultTurn next_turn() { return {daemon_, ++turns_}; }
  Task<std::string> ask_once(std::string question);
  Task<void> tell(wire::VaultAsk question);

  asio::any_io_executor loop_;
  const std::string data_, path_;
  const TellGate tell_gate_;
  const std::string daemon_ = new_uuid();
  std::uint64_t turns_ = 0;
  // Of whom was written what no gate has said yet that it goes by: at first all, for a daemon
  // before may have died in between.
  std::map<std::string, std::uint64_t> untold_;  // with a number for each time
  std::uint64_t times_ = 0;
  bool found_ = false;
};

}  // namespace cay::vault
