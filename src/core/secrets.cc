#include "core/secrets.h"

#include <algorithm>

#include "core/errors.h"

namespace cay::core {
namespace {

Result<std::vector<std::string>> checked_hosts(const std::vector<std::string>& hosts) {
  if (hosts.empty() || hosts.size() > kMostSecretHosts) {
    return invalid("invalid_secret",
                   "a secret has 1 to 64 hosts that it may be sent to, such as api.example.com, "
                   "*.example.com or host:8443");
  }
  std::vector<std::string> out;
  for (const std::string& text : hosts) {
    const auto host = parse_proxy_host(text);
    if (!host)
      return invalid("invalid_secret",
                     "'" + text.substr(0, 253) +
                         "' is no host such as api.example.com, *.example.com or host:8443");
    out.push_back(host->text());
  }
  return each_once(std::move(out));
}

Error secret_not_found(const std::string& name) {
  return {Code::kNotFound, "secret_not_found",
          "there is no secret '" + name + "': list them to see the names", 0};
}

}  // namespace

Task<std::string> SecretVerbs::public_key(Principal) {
  CAY_CO_TRY(Vault* const vault, proxies_.vault());
  auto key = co_await vault->public_key();
  co_return key;
}

Task<SecretInfo> SecretVerbs::set(Principal who, std::string name,
                                  std::optional<std::vector<std::string>> hosts, std::string box) {
  auto set = co_await jobs_.finish<SecretInfo>(
      set_job(std::move(who), std::move(name), std::move(hosts), std::move(box)));
  co_return set;
}

Task<SecretInfo> SecretVerbs::set_job(Principal who, std::string name,
                                      std::optional<std::vector<std::string>> hosts,
                                      std::string box) {
  if (!is_secret_name(name)) {
    co_return invalid("invalid_secret",
                      "a secret's name has 1 to 63 letters, digits, '.', '_' or '-', and begins "
                      "with none of '.' and '-'");
  }
  CAY_CO_TRY(Vault* const vault, proxies_.vault());
  auto turn = co_await changing_.lock();
  auto& all = proxies_.secrets();
  const auto old = all.find({who.tenant, name});
  if (old == all.end()) {
    const auto own =
        std::ranges::count_if(all, [&](const auto& one) { return one.first.first == who.tenant; });
    if (static_cast<std::size_t>(own) >= kMost)
      co_return Error{Code::kExhausted, "too_many_secrets",
                      "a tenant keeps at most 1000 secrets: remove one", 0};
  }
  if (old == all.end() && !hosts) hosts.emplace();  // and the check reports what is missing
  StoredSecret next;
  if (old != all.end()) next.info = old->second.info;
  next.info.tenant = who.tenant;
  next.info.name = name;
  if (hosts) {
    CAY_CO_TRY(next.info.hosts, checked_hosts(*hosts));
  }
  const UnixMillis now = registry_->clock().wall();
  next.info.version = old == all.end() ? 1 : old->second.info.version + 1;
  if (old == all.end()) next.info.created_at = now;
  next.info.updated_at = now;
  next.info.created_by = who.key_name;
  CAY_CO_TRY(next.sealed, co_await vault->seal(next.info, std::move(box)));
  CAY_CO_CHECK(registry_->store().put_secret(next));
  const SecretInfo info = next.info;
  all[{who.tenant, name}] = std::move(next);
  if (auto marked = proxies_.mark(who.tenant, name, Proxies::Gone::kNo, {}); !marked)
    jobs_.warn("rules for secret " + name + ": " + marked.error().message);
  auto replaced = co_await replace_in_use(who.tenant, name, info.version);
  if (!replaced)
    co_return std::move(replaced).error().while_doing("the new value of secret '" + name +
                                                      "' is kept");
  still_used_.erase({who.tenant, name});
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
  auto removed =
      co_await jobs_.finish<std::vector<SecretUser>>(remove_job(std::move(who), std::move(name)));
  co_return removed;
}

// The rows first: a rule that does not know that its secret is gone knows no hosts to refuse, if
// the daemon dies in between.
Task<std::vector<SecretUser>> SecretVerbs::remove_job(Principal who, std::string name) {
  auto turn = co_await changing_.lock();
  const std::pair key{who.tenant, name};
  const auto found = proxies_.secrets().find(key);
  if (found != proxies_.secrets().end()) {
    auto erased = proxies_.mark(who.tenant, name, Proxies::Gone::kYes, found->second.info.hosts);
    if (erased) erased = registry_->store().erase_secret(who.tenant, name);
    if (!erased) {
      static_cast<void>(
          proxies_.mark(who.tenant, name, Proxies::Gone::kNo, {}));  // or the next start does
      co_return std::move(erased).error();
    }
    still_used_[key] = found->second.info.version + 1;
    proxies_.secrets().erase(found);
  } else if (!still_used_.contains(key)) {
    co_return secret_not_found(name);
  }
  std::vector<SecretUser> users;
  for (const auto& entry : proxies_.users_of(who.tenant, name)) {
    SecretUser& user = users.emplace_back(SecretUser{entry->row.id, entry->row.name, {}});
    for (const ProxyRule& rule : entry->row.proxy) {
      if (rule.secret == name) user.rules.push_back(rule.name);
    }
  }
  auto replaced = co_await replace_in_use(who.tenant, name, still_used_[key]);
  // A sandbox that could not get the rest of its rules has them all, and this one refuses.
  const bool done = replaced || replaced.error().reason == "secret_not_given";
  if (!done) co_return std::move(replaced).error().while_doing("secret '" + name + "' is removed");
  still_used_.erase(key);
  co_return users;
}

Task<void> SecretVerbs::replace_in_use(TenantId tenant, std::string name, std::uint64_t least) {
  auto vault = proxies_.vault();
  if (!vault) co_return Result<void>();  // nobody uses any
  auto withdrawn = co_await (*vault)->withdraw(tenant, name, least);
  CAY_CO_TRY(const auto without, co_await give_anew(std::move(tenant), std::move(name)));
  std::string names;
  for (const std::string& one : without) names += (names.empty() ? "" : ", ") + one;
  const bool one_by_one = !withdrawn && withdrawn.error().reason == "unknown_verb" &&
                          without.empty();  // a broker of an older release
  if (!withdrawn && !one_by_one) {
    const std::string who = without.empty() ? "a sandbox that is being deleted" : names;
    co_return Error{
        Code::kUnavailable, "secret_not_withdrawn",
        who + " may use what it was still (" + withdrawn.error().message + "): try again", 0};
  }
  if (without.empty()) co_return Result<void>();
  co_return Error{
      Code::kUnavailable, "secret_not_given",
      "nobody uses what it was any more, and these sandboxes have none: " + names + ": try again",
      0};
}

// The names of those for whom it failed.
Task<std::vector<std::string>> SecretVerbs::give_anew(TenantId tenant, std::string name) {
  std::vector<std::string> without;
  std::vector<std::pair<std::shared_ptr<Entry>, std::string>> given;
  const auto users = proxies_.users_of(tenant, name);
  for (std::size_t i = 0; i < users.size(); ++i) {
    const auto entry = users[i];
    if (entry->removing()) continue;
    auto granted = co_await proxies_.grant(entry->row.id, entry->row.tenant, entry->row.proxy);
    if (granted) {
      given.emplace_back(entry, std::move(granted->certificate));
    } else {
      without.push_back(entry->row.name);
      jobs_.warn("secrets of sandbox " + entry->row.name + ": " + granted.error().message);
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto trusted = co_await SandboxTrust::make(given[i].first, given[i].second);
    if (!trusted)
      jobs_.warn("sandbox " + given[i].first->row.name +
                 " may not trust its authority before its next start: " + trusted.error().message);
  }
  co_return without;
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
