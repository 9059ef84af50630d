#include "vault/reflection.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <ranges>
#include <string>
#include <utility>

#include "vault/normaliser.h"
#include "vault/written.h"

namespace cay::vault {
namespace {

constexpr std::size_t kWindow = kLeastWritten;
constexpr std::size_t kPairs = 1 << 16, kHashes = 1 << 16;
constexpr std::string_view kSoft = "=\\";
constexpr std::size_t kMostSoft = 8;  // of one secret, the first
static_assert(kWindow == sizeof(std::uint64_t));

std::size_t pair_at(const char* at) {
  return static_cast<std::size_t>(static_cast<unsigned char>(at[0])) << 8 | static_cast<unsigned char>(at[1]);
}

std::uint64_t window_at(const char* at) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

std::size_t hash_of(std::uint64_t window) { return static_cast<std::size_t>((window * 0x9e3779b97f4a7c15) >> 48); }

std::size_t reach_of(std::string_view secret) { return std::min(secret.size(), kMostSought) * kMostRoom; }

std::string digest_of(std::string_view secret) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (::EVP_Digest(secret.data(), secret.size(), out, &size, ::EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(out), size};
}

}  // namespace

// Of one secret, whoever looks for it.
struct ReflectionWatch::Needles {
  explicit Needles(std::string_view secret);
  bool begins(std::string_view text) const;

  std::vector<Wiped> all;  // sorted
  std::size_t longest = 0;

 private:
  void add_normalised(std::string_view way);
};

bool can_be_found(std::string_view secret) {
  using After = Normaliser::After;
  return std::ranges::all_of(std::initializer_list<After>{After::kText, After::kBackslash, After::kBreak}, [&](After before) {
    const Wiped needle(normalised(secret.substr(0, kMostSought), before));
    std::string_view text = needle.view();
    while (!text.empty() && (text.back() == '=' || text.back() == '\\')) text.remove_suffix(1);
    return text.size() >= kWindow;
  });
}

ReflectionWatch::Needles::Needles(std::string_view secret) {
  for (const Wiped& way : written(secret)) add_normalised(way.view());
  // In clear, with a line's end where it is taken for a soft one.
  std::size_t soft = 0;
  for (std::size_t at = secret.find_first_of(kSoft); at + 1 < std::min(secret.size(), kMostSought) && soft < kMostSoft; at = secret.find_first_of(kSoft, at + 1), ++soft) {
    Wiped broken(std::string(secret.substr(0, kMostSought)));
    broken.bytes().insert(at + 1, "\n");
    add_normalised(broken.view());
  }
  std::ranges::sort(all, {}, &Wiped::view);
  const auto twice = std::ranges::unique(all, {}, &Wiped::view);
  all.erase(twice.begin(), twice.end());
}

// Whatever stands before it and behind it.
void ReflectionWatch::Needles::add_normalised(std::string_view way) {
  using After = Normaliser::After;
  for (const After before : {After::kText, After::kBackslash, After::kBreak}) {
    Wiped needle(normalised(way, before));
    if (needle.view().size() < kWindow) continue;
    // They may be taken back.
    while (needle.view().size() > kWindow && kSoft.find(needle.view().back()) != std::string_view::npos) needle.bytes().pop_back();
    longest = std::max(longest, needle.view().size());
    all.push_back(std::move(needle));
  }
}

bool ReflectionWatch::Needles::begins(std::string_view text) const {
  const std::string_view window = text.substr(0, kWindow);
  const auto first = std::ranges::lower_bound(all, window, {}, &Wiped::view);
  for (auto one = first; one != all.end() && one->view().starts_with(window); ++one) {
    if (text.starts_with(one->view())) return true;
  }
  return false;
}

ReflectionWatch::Sought::Sought(Secrets secrets, std::size_t held)
    : of(std::move(secrets)), far(std::string(kPairs, static_cast<char>(kWindow - 1))), beginnings(std::string(kHashes / 8, '\0')), reach(held) {
  std::vector<std::uint64_t> begin;
  for (const auto& [digest, needles] : of) {
    longest = std::max(longest, needles->longest);
    for (const Wiped& needle : needles->all) {
      const char* const text = needle.view().data();
      for (std::size_t i = 0; i + 1 < kWindow; ++i) {
        char& here = far.bytes()[pair_at(text + i)];
        here = std::min(here, static_cast<char>(kWindow - 2 - i));
      }
      const std::size_t hash = hash_of(window_at(text));
      beginnings.bytes()[hash / 8] = static_cast<char>(beginnings.bytes()[hash / 8] | 1 << hash % 8);
      begin.push_back(window_at(text));
    }
  }
  std::ranges::sort(begin);
  const auto twice = std::ranges::unique(begin);
  begin.erase(twice.begin(), twice.end());
  windows.bytes().assign(reinterpret_cast<const char*>(begin.data()), begin.size() * sizeof(std::uint64_t));
  ::OPENSSL_cleanse(begin.data(), begin.capacity() * sizeof(std::uint64_t));
}

void ReflectionWatch::look_for(std::string_view secret) {
  Secrets all = sought_ ? sought_->of : Secrets();
  SharedNeedles& needles = all[digest_of(secret)];
  if (!needles) needles = std::make_shared<const Needles>(secret);
  sought_ = std::make_shared<const Sought>(std::move(all), std::max(reach(), reach_of(secret)));
}

bool ReflectionWatch::holds(std::string_view text) const {
  const Wiped plain(normalised(text));
  return holds_normalised(plain.view());
}

bool ReflectionWatch::holds_normalised(std::string_view text) const {
  if (!sought_ || sought_->windows.view().empty()) return false;
  const char* const far = sought_->far.view().data();
  const char* const beginnings = sought_->beginnings.view().data();
  for (std::size_t at = 0; at + kWindow <= text.size();) {
    const auto next = static_cast<std::size_t>(far[pair_at(text.data() + at + kWindow - 2)]);
    if (next > 0) {
      at += next;
      continue;
    }
    const std::size_t hash = hash_of(window_at(text.data() + at));
    if ((beginnings[hash / 8] >> hash % 8 & 1) != 0 && sought_->begins_one(text.substr(at))) return true;
    ++at;
  }
  return false;
}

bool ReflectionWatch::Sought::begins_one(std::string_view text) const {
  const auto places = std::views::iota(std::size_t{0}, windows.view().size() / kWindow);
  const std::uint64_t window = window_at(text.data());
  const auto at = [&](std::size_t place) { return window_at(windows.view().data() + place * kWindow); };
  const auto found = std::ranges::lower_bound(places, window, {}, at);
  if (found == places.end() || at(*found) != window) return false;
  return std::ranges::any_of(of, [&](const auto& one) { return one.second->begins(text); });
}

ReflectionWatch SharedWatches::of(const ReflectionWatch& before, const std::vector<Wiped>& secrets) { return with(before, secrets, kMostSought * kMostRoom); }

ReflectionWatch SharedWatches::of_former(const std::vector<Wiped>& values) { return with({}, values, kMostHeldOfFormer); }

ReflectionWatch SharedWatches::with(const ReflectionWatch& before, const std::vector<Wiped>& secrets, std::size_t most_held) {
  ReflectionWatch::Secrets all = before.sought_ ? before.sought_->of : ReflectionWatch::Secrets();
  const std::size_t had = all.size();
  std::size_t reach = before.reach();
  std::map<std::string, const Wiped*> fresh;
  for (const Wiped& secret : secrets) {
    const std::string digest = digest_of(secret.view());
    reach = std::max(reach, std::min(reach_of(secret.view()), most_held));
    if (all.try_emplace(digest).second) fresh.emplace(digest, &secret);
  }
  if (all.size() == had && reach == before.reach()) return before;
  std::pair<Digests, std::size_t> key({}, reach);
  for (const auto& one : all) key.first.insert(one.first);
  ReflectionWatch out;
  if (const auto known = all_.find(key); known != all_.end()) out.sought_ = known->second.lock();
  if (out.sought_) return out;
  for (const auto& [digest, secret] : fresh) all[digest] = needles_of(digest, secret->view());
  out.sought_ = std::make_shared<const ReflectionWatch::Sought>(std::move(all), reach);
  std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
  all_[std::move(key)] = out.sought_;
  return out;
}

ReflectionWatch::SharedNeedles SharedWatches::needles_of(const std::string& digest, std::string_view secret) {
  if (const auto known = needles_.find(digest); known != needles_.end()) {
    if (auto needles = known->second.lock()) return needles;
  }
  std::erase_if(needles_, [](const auto& one) { return one.second.expired(); });
  auto made = std::make_shared<const ReflectionWatch::Needles>(secret);
  needles_[digest] = made;
  return made;
}

std::size_t SharedWatches::count() const {
  return static_cast<std::size_t>(std::ranges::count_if(all_, [](const auto& one) { return !one.second.expired(); }));
}

}  // namespace cay::vault
