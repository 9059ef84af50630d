#include "vault/sent.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "model/secret.h"
#include "os/file.h"
#include "vault/rules.h"

namespace cay::vault {
namespace {

constexpr UnixMillis kNotedEvery = 3'600'000;  // how exact its time is
constexpr std::size_t kMostMade = 64;          // a rule's wildcard has as many hosts as a guest likes
constexpr UnixMillis kLookedAtEvery = 60'000;  // which are the latest
constexpr std::size_t kOwnAtOnce = 8;          // so that not every number of own ones has a watch of its own

std::string file_of(const wire::VaultSecret& secret) { return to_hex(hash_secret(secret.sealed)) + std::string(wire::kVaultSentSuffix); }

std::vector<ProxyHost> hosts_in(const wire::VaultSecret& secret) {
  std::vector<ProxyHost> out;
  for (const std::string& text : secret.hosts) {
    if (auto host = parse_proxy_host(text)) out.push_back(*std::move(host));
  }
  return out;
}

}  // namespace

bool SentSecrets::Known::is_for(const std::string& host) const {
  return std::ranges::any_of(hosts, [&](const ProxyHost& of) { return of.matches(host, of.port); });
}

Result<Wiped> SentSecrets::value_of(const wire::VaultSecret& secret) const { return keys_.unseal(about_secret(secret), secret.sealed); }

void SentSecrets::open() {
  const auto names = os::list_dir(directory_);
  if (!names) return;  // said by Grants::open()
  for (const std::string& name : *names) {
    if (name.ends_with(std::string(wire::kVaultSentSuffix) + ".new")) ::unlinkat(directory_, name.c_str(), 0);  // of a write that was ended
    if (!name.ends_with(wire::kVaultSentSuffix)) continue;
    const auto bytes = os::read_file(directory_, name, wire::kMostVaultFrame);
    auto sent = bytes ? wire::decode<wire::VaultSent>(*bytes) : std::nullopt;
    if (!sent || file_of(sent->secret) != name || !value_of(sent->secret)) {
      std::fprintf(stderr, "cay broker: %s cannot be opened, and is removed: what was sent by it is not looked for in answers\n", name.c_str());
      ::unlinkat(directory_, name.c_str(), 0);
      continue;
    }
    all_[{sent->secret.tenant, sent->secret.name}].push_back({*sent, hosts_in(sent->secret), sent->at});
  }
  join_same();
  forget_old();
}

// Two files of one value are what is left where find() was ended.
void SentSecrets::join_same() {
  for (auto& [name, values] : all_) {
    std::ranges::sort(values, std::greater(), [](const Known& one) { return one.sent.at; });
    std::vector<std::pair<Wiped, std::vector<std::string>>> seen;
    std::erase_if(values, [&](const Known& known) {
      auto value = value_of(known.sent.secret);
      if (!value) return false;
      const bool twice = std::ranges::any_of(seen, [&](const auto& one) { return one.first.view() == value->view() && one.second == known.sent.secret.hosts; });
      if (twice) remove(known);
      if (!twice) seen.emplace_back(*std::move(value), known.sent.secret.hosts);
      return twice;
    });
  }
}

bool SentSecrets::keep(Known& known) const {
  known.written = known.sent.at;  // where that fails, the next time as well: not at each request
  const auto kept = write_durably(directory_, file_of(known.sent.secret), wire::encode(known.sent));
  if (kept) return true;
  std::fprintf(stderr, "cay broker: that secret '%s' was sent is not written down (%s): it is looked for in answers until this broker ends\n", known.sent.secret.name.c_str(), kept.error().message.c_str());
  return false;
}

// Where that fails the next start finds it, and it goes by its age.
void SentSecrets::remove(const Known& known) const { ::unlinkat(directory_, file_of(known.sent.secret).c_str(), 0); }

// By its value, where it is sealed otherwise by now: one of the daemon's rows, and ours, are sealed anew each for itself.
SentSecrets::Known* SentSecrets::find(const wire::VaultSecret& secret) {
  Values& values = all_[{secret.tenant, secret.name}];
  const auto same = std::ranges::find_if(values, [&](const Known& one) { return one.sent.secret.sealed == secret.sealed; });
  if (same != values.end()) return &*same;
  const auto value = value_of(secret);
  for (Known& one : values) {
    const auto other = value_of(one.sent.secret);
    if (!value || !other || value->view() != other->view() || one.sent.secret.hosts != secret.hosts) continue;
    const Known was = one;
    one.sent.secret = secret;
    if (keep(one)) remove(was);
    return &one;
  }
  return nullptr;
}

void SentSecrets::note(const wire::VaultSecret& secret) {
  const UnixMillis now = clock_.wall();
  if (now < looked_at_ || now - looked_at_ >= kNotedEvery) forget_old();
  Known* known = find(secret);
  Values& values = all_[{secret.tenant, secret.name}];
  const bool is_new = known == nullptr;
  if (is_new) known = &values.emplace_back(Known{{secret, now}, hosts_in(secret)});
  outdate(*known, is_new);
  known->sent.at = now;
  if (!is_new && now >= known->written && now - known->written < kNotedEvery) return;
  keep(*known);
  while (values.size() > kMostSentValues) {
    const auto oldest = std::ranges::min_element(values, {}, [&](const Known& one) { return std::pair(one.sent.secret.sealed == secret.sealed, one.sent.at); });
    remove(*oldest);
    values.erase(oldest);
  }
}

// Before its time is another. One that was not among the latest is from now on.
void SentSecrets::outdate(const Known& known, bool is_new) {
  for (auto& [of, made] : made_) {
    const bool comes_in = made.is_crowded && known.sent.at < made.oldest;
    if ((!is_new && !comes_in) || std::get<0>(of) != known.sent.secret.tenant || !known.is_for(std::get<1>(of))) continue;
    (is_new ? made.is_current : made.is_of_latest) = false;
  }
}

void SentSecrets::forget_old() {
  looked_at_ = clock_.wall();
  for (auto one = all_.begin(); one != all_.end();) {
    const auto gone = std::erase_if(one->second, [&](const Known& known) {
      const bool old = looked_at_ - known.sent.at > kSentKept;
      if (old) remove(known);
      return old;
    });
    if (gone > 0) made_.clear();
    one = one->second.empty() ? all_.erase(one) : std::next(one);
  }
}

ReflectionWatch SentSecrets::watch_of(const std::string& tenant, const std::string& host, std::size_t own) {
  const std::size_t most = kMostSentOfHost + (own + kOwnAtOnce - 1) / kOwnAtOnce * kOwnAtOnce;
  const std::tuple name(tenant, host, most);
  const auto found = made_.find(name);
  const UnixMillis now = clock_.wall();
  const auto is_good = [&](const Made& made) { return made.is_current && (made.is_of_latest || (now >= made.at && now - made.at < kLookedAtEvery)); };
  if (found != made_.end() && is_good(found->second)) {
    found->second.used = ++asked_;
    return found->second.watch;
  }
  std::vector<const Known*> latest;
  for (auto one = all_.lower_bound({tenant, ""}); one != all_.end() && one->first.first == tenant; ++one) {
    for (const Known& known : one->second) {
      if (known.is_for(host)) latest.push_back(&known);
    }
  }
  const bool is_crowded = latest.size() > most;
  if (is_crowded) {
    std::ranges::nth_element(latest, latest.begin() + static_cast<std::ptrdiff_t>(most), std::greater(), [](const Known* one) { return one->sent.at; });
    latest.resize(most);
  }
  Made fresh{.is_crowded = is_crowded, .at = now, .used = ++asked_};
  fresh.oldest = fresh.at;
  std::vector<Wiped> values;
  for (const Known* one : latest) {
    fresh.oldest = std::min(fresh.oldest, one->sent.at);
    if (auto value = value_of(one->sent.secret)) values.push_back(*std::move(value));
  }
  if (found == made_.end() && made_.size() >= kMostMade) {
    made_.erase(std::ranges::min_element(made_, {}, [](const auto& one) { return one.second.used; }));
  }
  fresh.watch = watches_.of_former(values);
  return (made_[name] = std::move(fresh)).watch;
}

Result<void> SentSecrets::reseal() {
  for (auto& [name, values] : all_) {
    for (auto one = values.begin(); one != values.end();) {
      const Known was = *one;
      wire::VaultSecret& secret = one->sent.secret;
      const auto value = value_of(secret);
      if (!value) {
        remove(was);
        one = values.erase(one);
        continue;
      }
      CAY_TRY(secret.sealed, keys_.seal(about_secret(secret), value->view()));
      CAY_CHECK(write_durably(directory_, file_of(secret), wire::encode(one->sent)));
      remove(was);
      ++one;
    }
  }
  made_.clear();
  return {};
}

}  // namespace cay::vault
