// SecretVerbs: core::Secrets. The core sees names, hosts and sealed bytes, and no value.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "async/mutex.h"
#include "core/proxies.h"
#include "core/registry.h"
#include "core/verbs/secrets.h"

namespace cay::core {

class SecretVerbs : public Secrets {
 public:
  SecretVerbs(std::shared_ptr<Registry> registry, Proxies& proxies, Jobs& jobs)
      : registry_(std::move(registry)), proxies_(proxies), jobs_(jobs), changing_(jobs.loop()) {}

  Task<std::string> public_key(Principal who) override;
  Task<SecretInfo> set(Principal who, std::string name,
                       std::optional<std::vector<std::string>> hosts, std::string box) override;
  Task<std::vector<SecretInfo>> list(Principal who) override;
  Task<std::vector<SecretUser>> remove(Principal who, std::string name) override;
  Task<std::uint32_t> rotate_key(Principal who) override;

 private:
  Task<SecretInfo> set_job(Principal who, std::string name,
                           std::optional<std::vector<std::string>> hosts, std::string box);
  Task<std::vector<SecretUser>> remove_job(Principal who, std::string name);
  Task<std::uint32_t> rotate_job();
  // Replaces a secret. Its old value is nobody's any more, whatever else fails. Then the sandboxes
  // with rules for it use the new one. Fails kUnavailable: secret_not_withdrawn (some may use the
  // old value), secret_not_given (some have none).
  Task<void> replace_in_use(TenantId tenant, std::string name, std::uint64_t least);
  Task<std::vector<std::string>> give_anew(TenantId tenant, std::string name);

  static constexpr std::size_t kMost = 1000;  // of a tenant
  std::shared_ptr<Registry> registry_;
  Proxies& proxies_;
  Jobs& jobs_;
  Mutex changing_;  // one change at a time
  std::map<std::pair<TenantId, std::string>, std::uint64_t>
      still_used_;  // removed, and could not be withdrawn: the version from which on it may be
};

}  // namespace cay::core
