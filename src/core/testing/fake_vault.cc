#include "core/testing/fake_vault.h"

#include <algorithm>

namespace cay::core::testing {

Task<std::string> FakeVault::public_key() {
  CAY_CO_CHECK(able());
  co_return std::string("key");
}

Task<std::string> FakeVault::seal(SecretInfo about, std::string box) {
  CAY_CO_CHECK(able());
  co_return "sealed " + about.name + " v" + std::to_string(about.version) + " " + box;
}

Task<Granted> FakeVault::grant(ProxyGrant grant) {
  CAY_CO_CHECK(able());
  if (refused.contains(grant.sandbox))
    co_return Error{refused_as, "vault_unavailable", "its grant cannot be written", 0};
  Granted out;
  for (const auto& [rule, secret] : grant.rules) {
    if (rule.is_fence() || rule.gone) continue;
    if (secret.info.version < least[rule.secret])
      co_return Error{Code::kConflict, "secret_withdrawn", "withdrawn", 0};
    if (torn.contains(secret.info.name)) out.unusable.push_back(rule.name);
  }
  const bool tls = std::ranges::any_of(
      grant.rules, [](const auto& one) { return one.first.way != ProxyWay::kBaseUrl; });
  granted[grant.sandbox] = std::move(grant);
  if (tls) out.certificate = certificate;
  co_return out;
}

Task<void> FakeVault::revoke(SandboxId sandbox) {
  CAY_CO_CHECK(able());
  granted.erase(sandbox);
  co_return Result<void>();
}

Task<void> FakeVault::withdraw(TenantId, std::string name, std::uint64_t from) {
  CAY_CO_CHECK(able());
  if (withdraw_fault) co_return *withdraw_fault;
  least[name] = from;
  for (auto& [id, grant] : granted) {
    std::erase_if(grant.rules, [&](const auto& one) { return one.first.secret == name; });
  }
  if (on_withdraw) on_withdraw();
  co_return Result<void>();
}

Task<void> FakeVault::keep_only(std::vector<ProxyGrant> all) {
  CAY_CO_CHECK(able());
  std::erase_if(granted, [&](const auto& one) {
    return std::ranges::find(all, one.first, &ProxyGrant::sandbox) == all.end();
  });
  co_return Result<void>();
}

Task<void> FakeVault::attend(std::function<Task<void>()> tell) {
  CAY_CO_CHECK(able());
  ++attended;
  const auto executor = co_await asio::this_coro::executor;
  const auto end = std::make_shared<Event>(executor);
  gone = end;
  CAY_CO_CHECK(co_await tell());
  co_await end->wait();
  co_return Result<void>();
}

Task<void> FakeVault::begin_rotation() {
  CAY_CO_CHECK(able());
  ++rotations;
  co_return Result<void>();
}

Task<std::string> FakeVault::reseal(StoredSecret secret) {
  CAY_CO_CHECK(able());
  co_return secret.sealed + " again";
}

Task<void> FakeVault::end_rotation() {
  CAY_CO_CHECK(able());
  ended = rotations;
  co_return Result<void>();
}

}  // namespace cay::core::testing
