// FakeVault: the vault port in memory. It seals by recording the request, and remembers the grants.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "core/ports/vault.h"

namespace cay::core::testing {

class FakeVault : public Vault {
 public:
  // While set, every call fails with it (no broker answers, its keys do not open).
  std::optional<Error> fault;

  // While set, withdraw() alone.
  std::optional<Error> withdraw_fault;
  std::set<SandboxId> refused;  // grants to these fail
  Code refused_as = Code::kUnavailable;
  std::function<void()> on_withdraw;

  std::map<SandboxId, ProxyGrant> granted;
  // Secrets that cannot be opened.
  std::set<std::string> torn;
  std::map<std::string, std::uint64_t> least;  // by the secret's name, as it was withdrawn last
  int rotations = 0, ended = 0, attended = 0;
  std::string certificate = "CERTIFICATE\n";  // of each sandbox's authority
  // The broker dies, and another one answers.
  void die() {
    if (gone) gone->notify();
  }

  Task<std::string> public_key() override;
  Task<std::string> seal(SecretInfo about, std::string box) override;
  // `certificate` where a rule needs one.
  Task<Granted> grant(ProxyGrant grant) override;
  Task<void> revoke(SandboxId sandbox) override;
  Task<void> withdraw(TenantId tenant, std::string name, std::uint64_t from) override;
  Task<void> keep_only(std::vector<ProxyGrant> all) override;
  Task<void> attend(std::function<Task<void>()> tell) override;
  Task<void> begin_rotation() override;
  Task<std::string> reseal(StoredSecret secret) override;
  Task<void> end_rotation() override;

 private:
  std::shared_ptr<Event> gone;  // of the broker that is attended
  Result<void> able() const { return fault ? Result<void>(*fault) : Result<void>(); }
};

}  // namespace cay::core::testing
