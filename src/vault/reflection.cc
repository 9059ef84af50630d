#include "vault/reflection.h"

#include <algorithm>
#include <utility>

#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr std::size_t kGroup = 3;      // bytes that become four letters
constexpr std::size_t kLeastNeedle = 8;

// What base64 makes of `secret` wherever it stands: the letters that depend on it alone, for each of the three places in a group.
std::vector<std::string> in_base64(std::string_view secret) {
  std::vector<std::string> out;
  for (std::size_t before = 0; before < kGroup; ++before) {
    std::string padded(before, '\0');
    padded += secret;
    std::string text = codec::base64(padded);
    wipe(padded);
    const std::size_t first = (before * 4 + 2) / 3;                  // the letters that hold bits of what is before it
    const std::size_t bits = (before + secret.size()) * 8;
    const std::size_t last = bits / 6;                               // ... and of what is behind it
    if (last > first && last - first >= kLeastNeedle) out.push_back(text.substr(first, last - first));
    wipe(text);
  }
  return out;
}

}  // namespace

void ReflectionWatch::look_for(std::string_view secret) {
  if (secret.empty()) return;
  needles_.emplace_back(std::string(secret));
  for (std::string& text : in_base64(secret)) {
    std::string safe = text;  // the alphabet for URLs
    std::ranges::replace(safe, '+', '-');
    std::ranges::replace(safe, '/', '_');
    if (safe != text) needles_.emplace_back(std::move(safe));
    needles_.emplace_back(std::move(text));
  }
}

bool ReflectionWatch::holds(std::string_view text) const {
  return std::ranges::any_of(needles_, [&](const Wiped& one) { return text.find(one.view()) != std::string_view::npos; });
}

// Where the longest end of `bytes` begins that a secret begins with; its size: none does.
std::size_t ReflectionWatch::beginning_of_one(std::string_view bytes) const {
  std::size_t found = bytes.size();
  for (const Wiped& one : needles_) {
    const std::string_view needle = one.view();
    std::size_t at = bytes.size() - std::min(bytes.size(), needle.size() - 1);
    for (at = bytes.find(needle.front(), at); at < found; at = bytes.find(needle.front(), at + 1)) {
      if (needle.starts_with(bytes.substr(at))) {
        found = at;
        break;
      }
    }
  }
  return found;
}

std::optional<std::string> ReflectionWatch::pass(std::string piece) {
  if (needles_.empty()) return piece;
  if (!held_.view().empty()) {
    piece.insert(0, held_.view());
    held_.wipe();
  }
  if (holds(piece)) {
    wipe(piece);
    return std::nullopt;
  }
  const std::size_t end = beginning_of_one(piece);
  held_ = Wiped(piece.substr(end));
  piece.resize(end);
  return piece;
}

std::string ReflectionWatch::rest() { return std::exchange(held_, Wiped()).bytes(); }

}  // namespace cay::vault
