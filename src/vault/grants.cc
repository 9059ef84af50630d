#include "vault/grants.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "gate/keeper_dialer.h"
#include "os/file.h"
#include "vault/rules.h"

namespace cay::vault {
namespace {

constexpr std::string_view kSuffix = ".grant";

std::string about_authority(const std::string& sandbox_id) {
  return "cay authority 1\n" + sandbox_id;
}

bool ends_tls(const wire::VaultGrant& grant) {
  return std::ranges::any_of(grant.rules, [](const wire::VaultRule& rule) {
    return static_cast<ProxyWay>(rule.way) != ProxyWay::kBaseUrl;
  });
}

}  // namespace

void Grants::open() {
  const auto names = os::list_dir(directory_);
  if (!names) {
    std::fprintf(
        stderr,
        "cay broker: what sandboxes may use cannot be read (%s): no sandbox may use any until a "
        "daemon sends its grants again\n",
        names.error().message.c_str());
    return;
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(kSuffix)) continue;
    auto made = load(name);
    if (!made) {
      closed_.insert(name.substr(0, name.size() - kSuffix.size()));
      std::fprintf(stderr,
                   "cay broker: %s cannot be opened (%s): the hosts of that sandbox's rules are "
                   "refused until a daemon sends the grant again\n",
                   name.c_str(), made.error().message.c_str());
      continue;
    }
    const std::string id = (*made)->grant.sandbox_id;
    versions_.granted(id, (*made)->grant.turn);
    all_[id] = *std::move(made);
  }
}

Result<std::shared_ptr<Granted>> Grants::load(const std::string& name) const {
  const auto broken = [](const char* why) {
    return Error{Code::kInternal, "grant_broken", why, 0};
  };
  CAY_TRY(const std::string bytes, os::read_file(directory_, name, wire::kMostVaultFrame));
  auto grant = wire::decode<wire::VaultGrant>(bytes);
  if (!grant) return broken("it is cut short, or another file");
  if (grant->sandbox_id + std::string(kSuffix) != name) return broken("it is another sandbox's");
  auto made = std::make_shared<Granted>();
  made->grant = *std::move(grant);
  if (!ends_tls(made->grant)) return made;
  CAY_TRY(const Wiped key,
          keys_.unseal(about_authority(made->grant.sandbox_id), made->grant.authority_key));
  CAY_TRY(Authority authority, Authority::load(made->grant.authority_cert, key));
  made->authority = std::make_unique<Authority>(std::move(authority));
  return made;
}

Result<void> Grants::keep(const wire::VaultGrant& grant) const {
  return write_durably(directory_, grant.sandbox_id + std::string(kSuffix), wire::encode(grant));
}

Result<std::string> Grants::grant(wire::VaultGrant grant) {
  if (!gate::is_sandbox_id(grant.sandbox_id))
    return Error{Code::kInvalidArgument, "bad_request", "a grant names its sandbox by id", 0};
  const std::string id = grant.sandbox_id;
  const auto old = all_.find(id);
  if (versions_.is_outdated(id, grant.turn))
    return old == all_.end() ? std::string() : old->second->grant.authority_cert;
  auto made = std::make_shared<Granted>();
  for (const wire::VaultRule& rule : grant.rules) {
    if (rule.secret.tenant != grant.tenant)
      return Error{Code::kInvalidArgument, "bad_request", "a secret of another tenant", 0};
    if (is_fence(rule) || rule.gone) continue;
    const auto least = least_.find({rule.secret.tenant, rule.secret.name});
    if (least != least_.end() && rule.secret.version < least->second) {
      return Error{Code::kConflict, "secret_withdrawn",
                   "secret '" + rule.secret.name + "' was changed or removed meanwhile: try again",
                   0};
    }
    // Its hosts stay the broker's, which refuses what needs it; the other rules have nothing to do
    // with it.
    if (!unseal(rule.secret)) made->unusable.push_back(rule.name);
  }
  if (ends_tls(grant)) {
    if (old != all_.end() && old->second->authority && old->second->authority->is_fresh()) {
      CAY_TRY(const Wiped key, old->second->authority->key());
      CAY_TRY(Authority again, Authority::load(old->second->grant.authority_cert, key));
      made->authority = std::make_unique<Authority>(std::move(again));
    } else {
      CAY_TRY(Authority fresh, Authority::make(id));
      made->authority = std::make_unique<Authority>(std::move(fresh));
    }
    grant.authority_cert = made->authority->certificate();
    CAY_TRY(const Wiped key, made->authority->key());
    CAY_TRY(grant.authority_key, keys_.seal(about_authority(id), key.view()));
  } else {
    grant.authority_cert.clear();
    grant.authority_key.clear();
  }
  auto kept = keep(grant);
  if (!kept && old == all_.end()) return std::move(kept).error();
  // The old grant may allow more. It ends now, and a broker that restarts must not find it.
  if (!kept) static_cast<void>(forget(id));
  closed_.erase(id);
  versions_.granted(id, grant.turn);
  made->grant = std::move(grant);
  const std::string certificate = made->grant.authority_cert;
  all_[id] = made;
  if (on_change) on_change(routes_of(made->grant));
  if (!kept) return std::move(kept).error();
  return certificate;
}

Result<void> Grants::forget(const std::string& sandbox_id) const {
  if (::unlinkat(directory_, (sandbox_id + std::string(kSuffix)).c_str(), 0) == 0 ||
      errno == ENOENT)
    return {};
  return Error::from_errno(errno, "remove the grant of sandbox " + sandbox_id);
}

Result<void> Grants::revoke_one(const std::string& sandbox_id, const wire::VaultTurn& turn) {
  if (!gate::is_sandbox_id(sandbox_id) || versions_.is_outdated(sandbox_id, turn)) return {};
  versions_.revoked(sandbox_id, turn);
  closed_.erase(sandbox_id);
  auto forgotten = forget(sandbox_id);
  if (all_.erase(sandbox_id) == 0 || !on_change) return forgotten;
  wire::BrokerRoutes none;
  none.sandbox_id = sandbox_id;
  on_change(none);
  return forgotten;
}

Result<void> Grants::revoke(const std::vector<std::string>& sandbox_ids,
                            const wire::VaultTurn& turn) {
  Result<void> all;
  for (const std::string& id : sandbox_ids) {
    auto done = revoke_one(id, turn);
    if (!done) all = std::move(done);
  }
  return all;
}

Result<void> Grants::keep_only(const std::vector<std::string>& sandbox_ids,
                               const wire::VaultTurn& turn) {
  // A grant of the same daemon for a withdrawn sandbox may still be on its way.
  if (turn.daemon.empty() || std::exchange(last_daemon_, turn.daemon) != turn.daemon)
    least_.clear();
  std::set<std::string> gone = closed_;
  for (const auto& [id, one] : all_) gone.insert(id);
  for (const std::string& id : sandbox_ids) gone.erase(id);
  return revoke({gone.begin(), gone.end()}, turn);
}

Result<void> Grants::withdraw(const std::string& tenant, const std::string& name,
                              std::uint64_t least) {
  least_[{tenant, name}] = least;
  Result<void> all;
  for (const auto& [id, one] : all_) {
    bool had_it = false;
    for (wire::VaultRule& rule : one->grant.rules) {
      if (rule.secret.tenant != tenant || rule.secret.name != name || is_withdrawn(rule.secret))
        continue;
      rule.secret.sealed.clear();
      had_it = true;
    }
    if (!had_it) continue;
    if (on_change) on_change(routes_of(one->grant));
    // A grant that cannot be written is none at all after this broker, for it must not be the old
    // one.
    if (keep(one->grant)) continue;
    auto forgotten = forget(id);
    if (!forgotten) all = std::move(forgotten);
  }
  return all;
}

Result<void> Grants::reseal() {
  for (const auto& [id, one] : all_) {
    if (!one->authority) continue;
    CAY_TRY(const Wiped key, one->authority->key());
    CAY_TRY(one->grant.authority_key, keys_.seal(about_authority(id), key.view()));
    CAY_CHECK(keep(one->grant));
  }
  return {};
}

std::shared_ptr<const Granted> Grants::of(const std::string& sandbox_id) const {
  const auto found = all_.find(sandbox_id);
  return found == all_.end() ? nullptr : found->second;
}

Result<Wiped> Grants::unseal(const wire::VaultSecret& secret) const {
  auto value = keys_.unseal(about_secret(secret), secret.sealed);
  if (value) return value;
  return Error{Code::kPermissionDenied, "secret_unusable",
               "the vault cannot open the secret '" + secret.name +
                   "': give its value again (cay secret set " + secret.name + ")",
               0};
}

std::vector<wire::BrokerRoutes> Grants::routes() const {
  std::vector<wire::BrokerRoutes> out;
  for (const auto& [id, one] : all_) out.push_back(routes_of(one->grant));
  return out;
}

}  // namespace cay::vault
