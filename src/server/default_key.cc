#include "server/default_key.h"

#include <charconv>
#include <optional>
#include <string>

namespace cay::server {
namespace {

constexpr const char* kMeta = "default_key";  // "sha256-hex MILLISECONDS"

// nullopt: of another key, or damaged, which is as good as another.
std::optional<UnixMillis> since_in(std::string_view text, std::string_view hash) {
  if (!text.starts_with(hash) || text.size() <= hash.size() + 1 || text[hash.size()] != ' ')
    return std::nullopt;
  text.remove_prefix(hash.size() + 1);
  UnixMillis since = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), since);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return since;
}

}  // namespace

Result<UnixMillis> default_key_since(core::Store& store, const KeyHash& hash, UnixMillis now) {
  const std::string shown = to_hex(hash);
  CAY_TRY(const auto kept, store.get_meta(kMeta));
  if (kept) {
    if (const auto since = since_in(*kept, shown)) return *since;
  }
  const UnixMillis since = kept ? now : 0;
  CAY_CHECK(store.put_meta(kMeta, shown + " " + std::to_string(since)));
  return since;
}

}  // namespace cay::server
