#include "core/proxies.h"

#include <algorithm>

#include "async/deadline.h"
#include "async/scope.h"
#include "core/errors.h"
#include "core/registry.h"
#include "model/secret.h"

namespace cay::core {
namespace {

constexpr int kTries = 3;
constexpr Millis kFirstRetry{50};
constexpr Millis kMostRetry{1'000};
constexpr int kTellFailed = 6;  // times, some seconds: a broker that died is back by then

Error unsupported() {
  return {Code::kUnsupported, "vault_unsupported",
          "this daemon was started without a vault: it keeps no secrets", 0};
}

Error unusable(const std::vector<std::string>& rules) {
  std::string names;
  for (const std::string& name : rules) names += (names.empty() ? "'" : ", '") + name + "'";
  return {Code::kPermissionDenied, "secret_unusable",
          "proxy rule " + names +
              ": the vault cannot open the secret: give its value again (cay secret set); the "
              "sandbox's other rules are in force",
          0};
}

}  // namespace

Result<Vault*> Proxies::vault() {
  if (vault_ == nullptr) return unsupported();
  return vault_;
}

Result<void> Proxies::open() {
  CAY_TRY(auto rows, registry_->store().secrets());
  for (StoredSecret& row : rows) secrets_[{row.info.tenant, row.info.name}] = std::move(row);
  return {};
}

Task<void> Proxies::tell_all() {
  if (vault_ == nullptr) co_return Result<void>();
  mark_all();
  std::vector<ProxyGrant> all;
  const auto entries = registry_->entries();
  for (const auto& entry : entries) {
    if (entry->row.proxy.empty()) continue;
    all.push_back(with_secrets(entry->row.id, entry->row.tenant, entry->row.proxy));
    granted_.insert(entry->row.id);
  }
  Result<void> done = co_await vault_->keep_only(std::move(all));
  if (!done && done.error().reason == "vault_unavailable")
    co_return done;  // nobody is there; what the gate is to know was written
  std::vector<SandboxTrust::Trusting> trusting;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto entry = entries[i];
    if (entry->row.proxy.empty() || entry->removing())
      continue;  // what is being removed keeps what it has, until nothing of it runs
    auto told = co_await grant(entry->row.id, entry->row.tenant, entry->row.proxy);
    if (!told) {
      Error why = std::move(told).error().while_doing("secrets of sandbox " + entry->row.name);
      const bool for_good = why.code == Code::kInvalidArgument || why.code == Code::kConflict;
      if (for_good) jobs_.warn(why.message);
      if (!for_good) done = std::move(why);  // to be sent again: the earlier grant counts meanwhile
      continue;
    }
    // A broker that could not open its authority made another.
    trusting.emplace_back(entry, std::move(told->certificate));
  }
  jobs_.spawn(trust_.renew_all(std::move(trusting)));
  co_return done;
}

Task<void> Proxies::keep_told() {
  if (vault_ == nullptr) co_return Result<void>();
  Scope telling(jobs_.loop());
  telling.spawn(tell_every_broker());
  co_await telling.until(stopped_.wait());
  co_return Result<void>();
}

asio::awaitable<void> Proxies::tell_every_broker() {
  const std::function<Task<void>()> tell = [this] { return tell_all(); };
  Millis pause = kFirstRetry;
  for (int failed = 0;;) {
    auto attending = vault_->attend(tell);
    const auto met = co_await std::move(attending);
    failed = met ? 0 : failed + 1;
    if (met) pause = kFirstRetry;
    if (failed == 1) {  // the gate is to know of all rules though no broker does
      const auto told = co_await tell_all();
      static_cast<void>(told);
    }
    const auto has_rules = [](const auto& entry) { return !entry->row.proxy.empty(); };
    if (failed == kTellFailed &&
        (!secrets_.empty() || std::ranges::any_of(registry_->entries(), has_rules))) {
      jobs_.warn(
          "the broker did not get the list of secrets that sandboxes may use, and uses the one "
          "that it got last; the daemon goes on trying: " +
          met.error().message);
    }
    co_await sleep_for(pause);
    pause = std::min(pause * 2, kMostRetry);
  }
}

Result<std::vector<ProxyRule>> Proxies::checked(const TenantId& tenant,
                                                std::vector<ProxyRule> rules,
                                                const std::vector<ProxyRule>& before) {
  for (ProxyRule& rule : rules) {
    for (auto* list : {&rule.hosts, &rule.methods, &rule.paths})
      *list = each_once(std::move(*list));
  }
  CAY_CHECK(check_proxy_rules(rules));
  if (!rules.empty() && vault_ == nullptr) return unsupported();
  for (ProxyRule& rule : rules) {
    rule.gone = false;
    rule.gone_hosts.clear();
    if (rule.is_fence()) continue;
    const auto secret = secrets_.find({tenant, rule.secret});
    if (secret == secrets_.end()) {
      return Error{Code::kNotFound, "secret_not_found",
                   "proxy rule '" + rule.name + "': there is no secret '" + rule.secret +
                       "': cay secret set " + rule.secret,
                   0};
    }
    const auto& allowed = secret->second.info.hosts;
    for (const std::string& text : rule.hosts) {
      const auto wanted = parse_proxy_host(text);
      const bool within = wanted && std::ranges::any_of(allowed, [&](const std::string& one) {
                            const auto own = parse_proxy_host(one);
                            return own && own->covers(*wanted);
                          });
      if (!within) {
        return Error{Code::kPermissionDenied, "host_not_allowed",
                     "proxy rule '" + rule.name + "': secret '" + rule.secret +
                         "' may not be sent to " + text +
                         ": its own hosts are what `cay secret set` gave it",
                     0};
      }
    }
    const auto& hosts = rule.hosts.empty() ? allowed : rule.hosts;
    if (rule.way == ProxyWay::kBaseUrl &&
        (hosts.empty() || parse_proxy_host(hosts.front())->wildcard())) {
      return invalid("invalid_proxy_rule", "proxy rule '" + rule.name +
                                               "': of way base_url the first host gets the "
                                               "requests: it must be an exact one");
    }
    const auto old = std::ranges::find_if(before, [&](const ProxyRule& one) {
      return one.name == rule.name && one.secret == rule.secret && one.way == rule.way;
    });
    rule.token = old != before.end() ? old->token : "cay-token-" + new_secret();
  }
  return rules;
}

Result<void> Proxies::mark(const TenantId& tenant, const std::string& secret, Gone gone,
                           const std::vector<std::string>& hosts) {
  for (const auto& entry : users_of(tenant, secret)) {
    Sandbox next = entry->row;
    for (ProxyRule& rule : next.proxy) {
      if (rule.secret != secret) continue;
      rule.gone = gone == Gone::kYes;
      rule.gone_hosts = hosts;
    }
    if (next.proxy == entry->row.proxy) continue;
    CAY_CHECK(registry_->save(*entry, std::move(next)));
  }
  return {};
}

// For a removal that was broken off, and a store that is a backup's.
void Proxies::mark_all() {
  for (const auto& entry : registry_->entries()) {
    for (const ProxyRule& rule : std::vector<ProxyRule>(entry->row.proxy)) {
      const bool gone = !rule.is_fence() && !secrets_.contains({entry->row.tenant, rule.secret});
      if (rule.gone == gone || entry->removing()) continue;
      auto marked = mark(entry->row.tenant, rule.secret, gone ? Gone::kYes : Gone::kNo,
                         gone ? rule.hosts : std::vector<std::string>());
      if (!marked)
        jobs_.warn("secrets of sandbox " + entry->row.name + ": " + marked.error().message);
    }
  }
}

// As they are now.
ProxyGrant Proxies::with_secrets(const SandboxId& sandbox, const TenantId& tenant,
                                 std::vector<ProxyRule> rules) const {
  ProxyGrant out{sandbox, tenant, {}};
  for (ProxyRule& rule : rules) {
    const auto secret = secrets_.find({tenant, rule.secret});
    if (secret != secrets_.end()) {
      rule.gone = false;
      out.rules.emplace_back(std::move(rule), secret->second);
      continue;
    }
    // Nothing is to go past a rule because its secret was removed.
    StoredSecret none;
    none.info.tenant = tenant;
    none.info.name = rule.secret;
    none.info.hosts = rule.gone_hosts;
    rule.gone = !rule.is_fence();
    out.rules.emplace_back(std::move(rule), std::move(none));
  }
  return out;
}

Task<Granted> Proxies::grant(SandboxId sandbox, TenantId tenant, std::vector<ProxyRule> rules) {
  CAY_CO_TRY(Vault* const at, vault());
  if (rules.empty()) {
    CAY_CO_CHECK(co_await at->revoke(std::move(sandbox)));
    co_return Granted();
  }
  granted_.insert(sandbox);
  Result<Granted> granted;
  for (int i = 0; i < kTries; ++i) {
    granted = co_await at->grant(with_secrets(sandbox, tenant, rules));
    if (granted || granted.error().reason != "secret_withdrawn")
      break;  // else a secret was changed on the way
  }
  if (granted && !granted->unusable.empty())
    jobs_.warn("sandbox " + sandbox.get() + ": " + unusable(granted->unusable).message);
  co_return granted;
}

Task<void> Proxies::equip(std::shared_ptr<Entry> entry) {
  if (entry->removing()) co_return Result<void>();  // what it had is taken back
  CAY_CO_TRY(Granted granted, co_await grant(entry->row.id, entry->row.tenant, entry->row.proxy));
  CAY_CO_CHECK(co_await SandboxTrust::make(entry, std::move(granted.certificate)));
  if (!granted.unusable.empty()) co_return unusable(granted.unusable);
  co_return Result<void>();
}

Task<void> Proxies::revoke_job(SandboxId sandbox) {
  auto done = co_await vault_->revoke(sandbox);
  if (!done)
    jobs_.warn("the secrets of sandbox " + sandbox.get() +
               ", which is gone, are taken back at the next start: " + done.error().message);
  co_return Result<void>();
}

void Proxies::revoke(const SandboxId& sandbox) {
  trust_.forget(sandbox);
  if (granted_.erase(sandbox) > 0) jobs_.spawn(revoke_job(sandbox));
}

std::vector<std::shared_ptr<Entry>> Proxies::users_of(const TenantId& tenant,
                                                      const std::string& secret) const {
  std::vector<std::shared_ptr<Entry>> out;
  for (const auto& entry : registry_->entries()) {
    const bool uses = entry->row.tenant == tenant && !entry->removing() &&
                      std::ranges::any_of(entry->row.proxy, [&](const ProxyRule& rule) {
                        return rule.secret == secret;
                      });
    if (uses) out.push_back(entry);
  }
  return out;
}

std::vector<ProxiedHost> Proxies::hosts_of(const Sandbox& row) const {
  std::vector<ProxiedHost> out;
  for (const ProxyRule& rule : row.proxy) {
    const ProxiedHost::Kind kind = rule.is_fence()                  ? ProxiedHost::Kind::kFence
                                   : rule.way == ProxyWay::kBaseUrl ? ProxiedHost::Kind::kBaseUrl
                                                                    : ProxiedHost::Kind::kSecret;
    const auto secret = secrets_.find({row.tenant, rule.secret});
    const bool kept = secret != secrets_.end();
    std::vector<std::string> hosts = rule.hosts;
    if (hosts.empty()) hosts = kept ? secret->second.info.hosts : rule.gone_hosts;
    for (const std::string& text : hosts) {
      auto host = parse_proxy_host(text);
      if (host)
        out.push_back({.rule = rule.name,
                       .host = *std::move(host),
                       .kind = kind,
                       .gone = !kept && kind != ProxiedHost::Kind::kFence,
                       .methods = rule.methods,
                       .paths = rule.paths});
    }
  }
  return out;
}

}  // namespace cay::core
