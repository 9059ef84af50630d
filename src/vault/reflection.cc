#include "vault/reflection.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <utility>

#include "vault/normaliser.h"
#include "vault/written.h"

namespace cay::vault {
namespace {

constexpr std::size_t kWindow = kLeastWritten;
constexpr std::size_t kPairs = 1 << 16, kHashes = 1 << 16;
static_assert(kWindow == sizeof(std::uint64_t));

std::size_t pair_at(const char* at) {
  return static_cast<std::size_t>(static_cast<unsigned char>(at[0])) << 8 | static_cast<unsigned char>(at[1]);
}

std::size_t hash_at(const char* at) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  return static_cast<std::size_t>((bytes * 0x9e3779b97f4a7c15) >> 48);
}

std::string digest_of(std::string_view secret) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (::EVP_Digest(secret.data(), secret.size(), out, &size, ::EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(out), size};
}

}  // namespace

ReflectionWatch::Sought::Sought() : far(std::string(kPairs, static_cast<char>(kWindow - 1))), beginnings(std::string(kHashes / 8, '\0')) {}

ReflectionWatch::Sought::Sought(const Sought& other)
    : far(std::string(other.far.view())), beginnings(std::string(other.beginnings.view())), longest(other.longest), reach(other.reach) {
  needles.reserve(other.needles.size());
  for (const Wiped& one : other.needles) needles.emplace_back(std::string(one.view()));
}

bool can_be_found(std::string_view secret) {
  using After = Normaliser::After;
  return std::ranges::all_of(std::initializer_list<After>{After::kText, After::kBackslash, After::kBreak}, [&](After before) {
    const Wiped needle(normalised(secret.substr(0, kMostSought), before));
    std::string_view text = needle.view();
    while (!text.empty() && (text.back() == '=' || text.back() == '\\')) text.remove_suffix(1);
    return text.size() >= kWindow;
  });
}

void ReflectionWatch::look_for(std::string_view secret) {
  if (!sought_) sought_ = std::make_shared<Sought>();
  if (sought_.use_count() > 1 || !sought_->of.empty()) sought_ = std::make_shared<Sought>(*sought_);
  sought_->add_secret(secret);
  sought_->sort();
}

void ReflectionWatch::Sought::add_secret(std::string_view secret) {
  for (const Wiped& way : written(secret)) add_normalised(way.view());
  reach = std::max(reach, std::min(secret.size(), kMostSought) * kMostRoom);
}

void ReflectionWatch::Sought::sort() {
  std::ranges::sort(needles, {}, &Wiped::view);
  const auto twice = std::ranges::unique(needles, {}, &Wiped::view);
  needles.erase(twice.begin(), twice.end());
}

// Whatever stands before it and behind it.
void ReflectionWatch::Sought::add_normalised(std::string_view way) {
  using After = Normaliser::After;
  for (const After before : {After::kText, After::kBackslash, After::kBreak}) {
    Wiped needle(normalised(way, before));
    const std::string_view text = needle.view();
    if (text.size() < kWindow) continue;
    const bool may_be_taken_back = text.ends_with('=') || text.ends_with('\\');
    if (may_be_taken_back && text.size() > kWindow) needle.bytes().resize(text.size() - 1);
    add(std::move(needle));
  }
}

void ReflectionWatch::Sought::add(Wiped needle) {
  const std::string_view text = needle.view();
  for (std::size_t i = 0; i + 1 < kWindow; ++i) {
    char& here = far.bytes()[pair_at(text.data() + i)];
    here = std::min(here, static_cast<char>(kWindow - 2 - i));
  }
  const std::size_t hash = hash_at(text.data());
  beginnings.bytes()[hash / 8] = static_cast<char>(beginnings.bytes()[hash / 8] | 1 << hash % 8);
  longest = std::max(longest, text.size());
  needles.push_back(std::move(needle));
}

bool ReflectionWatch::holds(std::string_view text) const {
  const Wiped plain(normalised(text));
  return holds_normalised(plain.view());
}

bool ReflectionWatch::holds_normalised(std::string_view text) const {
  if (!sought_ || sought_->needles.empty()) return false;
  const char* const far = sought_->far.view().data();
  const char* const beginnings = sought_->beginnings.view().data();
  for (std::size_t at = 0; at + kWindow <= text.size();) {
    const auto next = static_cast<std::size_t>(far[pair_at(text.data() + at + kWindow - 2)]);
    if (next > 0) {
      at += next;
      continue;
    }
    const std::size_t hash = hash_at(text.data() + at);
    if ((beginnings[hash / 8] >> hash % 8 & 1) != 0 && sought_->begins_one(text.substr(at))) return true;
    ++at;
  }
  return false;
}

bool ReflectionWatch::Sought::begins_one(std::string_view text) const {
  const std::string_view window = text.substr(0, kWindow);
  const auto first = std::ranges::lower_bound(needles, window, {}, &Wiped::view);
  for (auto one = first; one != needles.end() && one->view().starts_with(window); ++one) {
    if (text.starts_with(one->view())) return true;
  }
  return false;
}

ReflectionWatch SharedWatches::of(const ReflectionWatch& before, const std::vector<Wiped>& secrets) {
  std::set<std::string> all;
  if (before.sought_) all = before.sought_->of;
  for (const Wiped& secret : secrets) all.insert(digest_of(secret.view()));
  if (all.empty() || (before.sought_ && all == before.sought_->of)) return before;
  ReflectionWatch out;
  if (const auto known = all_.find(all); known != all_.end()) out.sought_ = known->second.lock();
  if (out.sought_) return out;
  out.sought_ = before.sought_ ? std::make_shared<ReflectionWatch::Sought>(*before.sought_) : std::make_shared<ReflectionWatch::Sought>();
  for (const Wiped& secret : secrets) out.sought_->add_secret(secret.view());
  out.sought_->sort();
  std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
  all_[all] = out.sought_;
  out.sought_->of = std::move(all);
  return out;
}

std::size_t SharedWatches::count() const {
  return static_cast<std::size_t>(std::ranges::count_if(all_, [](const auto& one) { return !one.second.expired(); }));
}

}  // namespace cay::vault
