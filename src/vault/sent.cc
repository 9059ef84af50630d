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

constexpr std::string_view kSentSuffix = ".sent";
constexpr UnixMillis kNotedEvery = 3'600'000;  // how exact its time is
constexpr std::size_t kMostMade = 64;          // a rule's wildcard has as many hosts as a guest likes

std::string file_of(const wire::VaultSecret& secret) { return to_hex(hash_secret(secret.sealed)) + std::string(kSentSuffix); }

std::vector<ProxyHost> hosts_in(const wire::VaultSecret& secret) {
  std::vector<ProxyHost> out;
  for (const std::string& text : secret.hosts) {
    if (auto host = parse_proxy_host(text)) out.push_back(*std::move(host));
  }
  return out;
}

}  // namespace

Result<Wiped> SentSecrets::value_of(const wire::VaultSecret& secret) const { return keys_.unseal(about_secret(secret), secret.sealed); }

void SentSecrets::open() {
  const auto names = os::list_dir(directory_);
  if (!names) return;  // said by Grants::open()
  for (const std::string& name : *names) {
    if (!name.ends_with(kSentSuffix)) continue;
    const auto bytes = os::read_file(directory_, name, wire::kMostVaultFrame);
    auto sent = bytes ? wire::decode<wire::VaultSent>(*bytes) : std::nullopt;
    if (!sent || file_of(sent->secret) != name || !value_of(sent->secret)) {
      std::fprintf(stderr, "cay broker: %s cannot be opened, and is removed: what was sent by it is not looked for in answers\n", name.c_str());
      ::unlinkat(directory_, name.c_str(), 0);
      continue;
    }
    all_[{sent->secret.tenant, sent->secret.name}].push_back({*sent, hosts_in(sent->secret)});
  }
  forget_old();
}

void SentSecrets::keep(const Known& known) const {
  const auto kept = write_durably(directory_, file_of(known.sent.secret), wire::encode(known.sent));
  if (kept) return;
  std::fprintf(stderr, "cay broker: that secret '%s' was sent is not written down (%s): it is looked for in answers until this broker ends\n", known.sent.secret.name.c_str(), kept.error().message.c_str());
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
    keep(one);
    remove(was);
    return &one;
  }
  return nullptr;
}

void SentSecrets::note(const wire::VaultSecret& secret) {
  const UnixMillis now = clock_.wall();
  if (now < looked_at_ || now - looked_at_ >= kNotedEvery) forget_old();
  Known* known = find(secret);
  if (known != nullptr && now >= known->sent.at && now - known->sent.at < kNotedEvery) return;
  made_.clear();
  Values& values = all_[{secret.tenant, secret.name}];
  if (known == nullptr) known = &values.emplace_back(Known{{secret, now}, hosts_in(secret)});
  known->sent.at = now;
  keep(*known);
  while (values.size() > kMostSentValues) {
    const auto oldest = std::ranges::min_element(values, {}, [&](const Known& one) { return std::pair(one.sent.secret.sealed == secret.sealed, one.sent.at); });
    remove(*oldest);
    values.erase(oldest);
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

ReflectionWatch SentSecrets::watch_of(const std::string& tenant, const std::string& host) {
  if (const auto known = made_.find({tenant, host}); known != made_.end()) return known->second;
  std::vector<const Known*> latest;
  for (auto one = all_.lower_bound({tenant, ""}); one != all_.end() && one->first.first == tenant; ++one) {
    for (const Known& known : one->second) {
      if (std::ranges::any_of(known.hosts, [&](const ProxyHost& of) { return of.matches(host, of.port); })) latest.push_back(&known);
    }
  }
  if (latest.size() > kMostSentOfHost) {
    std::ranges::nth_element(latest, latest.begin() + kMostSentOfHost, std::greater(), [](const Known* one) { return one->sent.at; });
    latest.resize(kMostSentOfHost);
  }
  std::vector<Wiped> values;
  for (const Known* one : latest) {
    if (auto value = value_of(one->sent.secret)) values.push_back(*std::move(value));
  }
  if (made_.size() >= kMostMade) made_.clear();
  return made_[{tenant, host}] = watches_.of({}, values);
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
