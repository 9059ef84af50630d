#include "core/secrets.h"

#include <algorithm>

#include "core/errors.h"

namespace cay::core {
namespace {

Result<std::vector<std::string>> checked_hosts(const std::vector<std::string>& hosts) {
  if (hosts.empty() || hosts.size() > kMostSecretHosts) {
    return invalid("invalid_secret", "a secret has 1 to 64 hosts that it may be sent to, such as api.example.com, *.example.com or host:8443");
  }
  std::vector<std::string> out;
  for (const std::string& text : hosts) {
    const auto host = parse_proxy_host(text);
    if (!host) return invalid("invalid_secret", "'" + text.substr(0, 253) + "' is no host such as api.example.com, *.example.com or host:8443");
    out.push_back(host->text());
  }
  return out;
}

Error secret_not_found(const std::string& name) {
  return {Code::kNotFound, "secret_not_found", "there is no secret '" + name + "': list them to see the names", 0};
}

}  // namespace

Task<std::string> SecretVerbs::public_key(Principal) {
  CAY_CO_TRY(Vault* const vault, proxies_.vault());
  auto key = co_await vault->public_key();
  co_return key;
}

Task<SecretInfo> SecretVerbs::set(Principal who, std::string name, std::optional<std::vector<std::string>> hosts, std::string box) {
  auto set = co_await jobs_.finish<SecretInfo>(set_job(std::move(who), std::move(name), std::move(hosts), std::move(box)));
  co_return set;
}

Task<SecretInfo> SecretVerbs::set_job(Principal who, std::string name, std::optional<std::vector<std::string>> hosts, std::string box) {
  if (!is_secret_name(name)) {
    co_return invalid("invalid_secret", "a secret's name has 1 to 63 letters, digits, '.', '_' or '-', and begins with none of '.' and '-'");
  }
  CAY_CO_TRY(Vault* const vault, proxies_.vault());
  auto turn = co_await changing_.lock();
  auto& all = proxies_.secrets();
  const auto old = all.find({who.tenant, name});
  if (old == all.end()) {
    const auto own = std::ranges::count_if(all, [&](const auto& one) { return one.first.first == who.tenant; });
    if (static_cast<std::size_t>(own) >= kMost) co_return Error{Code::kExhausted, "too_many_secrets", "a tenant keeps at most 1000 secrets: remove one", 0};
  }
  if (old == all.end() && !hosts) hosts.emplace();  // and it is said what is missing
  StoredSecret next;
  if (old != all.end()) next.info = old->second.info;
  next.info.tenant = who.tenant;
  next.info.name = name;
  if (hosts) { CAY_CO_TRY(next.info.hosts, checked_hosts(*hosts)); }
  const UnixMillis now = registry_->clock().wall();
  next.info.version = old == all.end() ? 1 : old->second.info.version + 1;
  if (old == all.end()) next.info.created_at = now;
  next.info.updated_at = now;
  next.info.created_by = who.key_name;
  CAY_CO_TRY(next.sealed, co_await vault->seal(next.info, std::move(box)));
  CAY_CO_CHECK(registry_->store().put_secret(next));
  const SecretInfo info = next.info;
  all[{who.tenant, name}] = std::move(next);
  if (auto marked = proxies_.mark(who.tenant, name, Proxies::Gone::kNo, {}); !marked) jobs_.warn("rules for secret " + name + ": " + marked.error().message);
  CAY_CO_CHECK(co_await tell_users(who.tenant, name));
  co_return info;
}

Task<std::vector<SecretInfo>> SecretVerbs::list(Principal who) {
  std::vector<SecretInfo> out;
  for (const auto& [key, secret] : proxies_.secrets()) {
    if (key.first == who.tenant) out.push_back(secret.info);
  }
  co_return out;
}

Task<std::vector<SecretUser>> SecretVerbs::remove(Principal who, std::string name) {
  auto removed = co_await jobs_.finish<std::vector<SecretUser>>(remove_job(std::move(who), std::move(name)));
  co_return removed;
}

// The rows first: a rule that does not know that its secret is gone knows no hosts to refuse, if the daemon dies in between.
Task<std::vector<SecretUser>> SecretVerbs::remove_job(Principal who, std::string name) {
  auto turn = co_await changing_.lock();
  const auto found = proxies_.secrets().find({who.tenant, name});
  if (found == proxies_.secrets().end()) co_return secret_not_found(name);
  const auto hosts = found->second.info.hosts;
  auto erased = proxies_.mark(who.tenant, name, Proxies::Gone::kYes, hosts);
  if (erased) erased = registry_->store().erase_secret(who.tenant, name);
  if (!erased) {
    static_cast<void>(proxies_.mark(who.tenant, name, Proxies::Gone::kNo, {}));  // or the next start does
    co_return std::move(erased).error();
  }
  proxies_.secrets().erase(found);
  std::vector<SecretUser> users;
  for (const auto& entry : proxies_.users_of(who.tenant, name)) {
    SecretUser& user = users.emplace_back(SecretUser{entry->row.id, entry->row.name, {}});
    for (const ProxyRule& rule : entry->row.proxy) {
      if (rule.secret == name) user.rules.push_back(rule.name);
    }
  }
  CAY_CO_CHECK(co_await tell_users(who.tenant, name));
  co_return users;
}

Task<void> SecretVerbs::tell_users(TenantId tenant, std::string name) {
  auto told = co_await proxies_.equip_all(proxies_.users_of(tenant, name));
  co_return told;
}

Task<std::uint32_t> SecretVerbs::rotate_key(Principal) {
  auto rotated = co_await jobs_.finish<std::uint32_t>(rotate_job());
  co_return rotated;
}

// In this order: a key is forgotten only when nothing that is kept needs it.
Task<std::uint32_t> SecretVerbs::rotate_job() {
  CAY_CO_TRY(Vault* const vault, proxies_.vault());
  auto turn = co_await changing_.lock();
  CAY_CO_CHECK(co_await vault->begin_rotation());
  std::vector<StoredSecret> all;
  for (const auto& [key, secret] : proxies_.secrets()) all.push_back(secret);
  for (std::size_t i = 0; i < all.size(); ++i) {
    StoredSecret next = all[i];
    CAY_CO_TRY(next.sealed, co_await vault->reseal(all[i]));
    CAY_CO_CHECK(registry_->store().put_secret(next));
    proxies_.secrets()[{next.info.tenant, next.info.name}] = std::move(next);
  }
  CAY_CO_CHECK(co_await proxies_.tell_all());
  CAY_CO_CHECK(co_await vault->end_rotation());
  co_return static_cast<std::uint32_t>(all.size());
}

}  // namespace cay::core
