#include "vault/reflection.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
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

}  // namespace

void ReflectionWatch::look_for(std::string_view secret) {
  if (far_.view().empty()) {
    far_ = Wiped(std::string(kPairs, static_cast<char>(kWindow - 1)));
    beginnings_ = Wiped(std::string(kHashes / 8, '\0'));
  }
  for (const Wiped& way : written(secret)) add_normalised(way.view());
  reach_ = std::max(reach_, std::min(secret.size(), kMostSought) * kMostRoom);
}

// Whatever stands before it and behind it.
void ReflectionWatch::add_normalised(std::string_view way) {
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

void ReflectionWatch::add(Wiped needle) {
  const auto at = std::ranges::lower_bound(needles_, needle.view(), {}, &Wiped::view);
  if (at != needles_.end() && at->view() == needle.view()) return;
  const std::string_view text = needle.view();
  for (std::size_t i = 0; i + 1 < kWindow; ++i) {
    char& far = far_.bytes()[pair_at(text.data() + i)];
    far = std::min(far, static_cast<char>(kWindow - 2 - i));
  }
  const std::size_t hash = hash_at(text.data());
  beginnings_.bytes()[hash / 8] = static_cast<char>(beginnings_.bytes()[hash / 8] | 1 << hash % 8);
  longest_ = std::max(longest_, text.size());
  needles_.insert(at, std::move(needle));
}

bool ReflectionWatch::holds(std::string_view text) const {
  const Wiped plain(normalised(text));
  return holds_normalised(plain.view());
}

bool ReflectionWatch::holds_normalised(std::string_view text) const {
  if (needles_.empty()) return false;
  const char* const far = far_.view().data();
  const char* const beginnings = beginnings_.view().data();
  for (std::size_t at = 0; at + kWindow <= text.size();) {
    const auto next = static_cast<std::size_t>(far[pair_at(text.data() + at + kWindow - 2)]);
    if (next > 0) {
      at += next;
      continue;
    }
    const std::size_t hash = hash_at(text.data() + at);
    if ((beginnings[hash / 8] >> hash % 8 & 1) != 0 && begins_one(text.substr(at))) return true;
    ++at;
  }
  return false;
}

bool ReflectionWatch::begins_one(std::string_view text) const {
  const std::string_view window = text.substr(0, kWindow);
  const auto first = std::ranges::lower_bound(needles_, window, {}, &Wiped::view);
  for (auto one = first; one != needles_.end() && one->view().starts_with(window); ++one) {
    if (text.starts_with(one->view())) return true;
  }
  return false;
}

}  // namespace cay::vault
