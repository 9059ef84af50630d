#include "vault/sent.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "model/proxy.h"
#include "model/secret.h"
#include "os/file.h"
#include "vault/rules.h"

namespace cay::vault {
namespace {

constexpr std::string_view kSentSuffix = ".sent";
constexpr UnixMillis kNotedEvery = 3'600'000;  // how exact its time is

std::string file_of(const wire::VaultSecret& secret) {
  wire::VaultSecret named;
  named.tenant = secret.tenant;
  named.name = secret.name;
  named.version = secret.version;
  return to_hex(hash_secret(wire::encode(named))) + std::string(kSentSuffix);
}

bool was_sent_to(const wire::VaultSecret& secret, std::string_view host) {
  return std::ranges::any_of(secret.hosts, [&](const std::string& text) {
    const auto pattern = parse_proxy_host(text);
    return pattern && pattern->matches(host, pattern->port);
  });
}

}  // namespace

void SentSecrets::open() {
  const auto names = os::list_dir(directory_);
  if (!names) return;  // said by Grants::open()
  for (const std::string& name : *names) {
    if (!name.ends_with(kSentSuffix)) continue;
    const auto bytes = os::read_file(directory_, name, wire::kMostVaultFrame);
    auto sent = bytes ? wire::decode<wire::VaultSent>(*bytes) : std::nullopt;
    if (!sent || file_of(sent->secret) != name || !keys_.unseal(about_secret(sent->secret), sent->secret.sealed)) {
      std::fprintf(stderr, "cay broker: %s cannot be opened: what was sent by it is not looked for in answers\n", name.c_str());
      continue;
    }
    const Key key{sent->secret.tenant, sent->secret.name, sent->secret.version};
    all_[key] = *std::move(sent);
  }
}

Result<void> SentSecrets::keep(const wire::VaultSent& sent) const { return write_durably(directory_, file_of(sent.secret), wire::encode(sent)); }

std::map<SentSecrets::Key, wire::VaultSent>::iterator SentSecrets::forget(std::map<Key, wire::VaultSent>::iterator one) {
  ::unlinkat(directory_, file_of(one->second.secret).c_str(), 0);  // where that fails, the next start finds it, and it goes by its age
  return all_.erase(one);
}

void SentSecrets::note(const wire::VaultSecret& secret) {
  const UnixMillis now = clock_.wall();
  auto& known = all_[{secret.tenant, secret.name, secret.version}];
  const bool same = known.secret.sealed == secret.sealed;
  if (same && now >= known.at && now - known.at < kNotedEvery) return;
  known.secret = secret;
  known.at = now;
  if (auto kept = keep(known); !kept) {
    std::fprintf(stderr, "cay broker: that secret '%s' was sent is not written down (%s): it is looked for in answers until this broker ends\n", secret.name.c_str(), kept.error().message.c_str());
  }
  forget_older(secret);
}

void SentSecrets::forget_older(const wire::VaultSecret& than) {
  const UnixMillis now = clock_.wall();
  for (auto one = all_.begin(); one != all_.end();) one = now - one->second.at > kSentKept ? forget(one) : std::next(one);
  const auto first = all_.lower_bound({than.tenant, than.name, 0}), end = all_.upper_bound({than.tenant, than.name, UINT64_MAX});
  auto over = std::distance(first, end) - static_cast<std::ptrdiff_t>(kMostSentVersions);
  for (auto one = first; over > 0; --over) one = forget(one);
}

std::vector<Wiped> SentSecrets::of_host(const std::string& tenant, std::string_view host) const {
  const UnixMillis now = clock_.wall();
  std::vector<const wire::VaultSent*> latest;
  for (auto one = all_.lower_bound({tenant, "", 0}); one != all_.end() && one->second.secret.tenant == tenant; ++one) {
    if (now - one->second.at <= kSentKept && was_sent_to(one->second.secret, host)) latest.push_back(&one->second);
  }
  if (latest.size() > kMostSentOfHost) {
    std::ranges::nth_element(latest, latest.begin() + kMostSentOfHost, [](const auto* one, const auto* other) { return one->at > other->at; });
    latest.resize(kMostSentOfHost);
  }
  std::vector<Wiped> out;
  for (const wire::VaultSent* one : latest) {
    if (auto value = keys_.unseal(about_secret(one->secret), one->secret.sealed)) out.push_back(*std::move(value));
  }
  return out;
}

Result<void> SentSecrets::reseal() {
  for (auto one = all_.begin(); one != all_.end();) {
    wire::VaultSecret& secret = one->second.secret;
    const auto value = keys_.unseal(about_secret(secret), secret.sealed);
    if (!value) {
      one = forget(one);
      continue;
    }
    CAY_TRY(secret.sealed, keys_.seal(about_secret(secret), value->view()));
    CAY_CHECK(keep(one->second));
    ++one;
  }
  return {};
}

}  // namespace cay::vault
