#include "model/link.h"

namespace cay {
namespace {

constexpr std::string_view kPrefix = "cayl_";
constexpr std::size_t kIdLetters = 32;
constexpr std::size_t kDashes[] = {8, 13, 18, 23};

}  // namespace

std::string link_token(const LinkId& id, std::string_view secret) {
  std::string out(kPrefix);
  for (const char c : id.get()) {
    if (c != '-') out.push_back(c);
  }
  return out + '_' + std::string(secret);
}

std::optional<LinkToken> read_link_token(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  if (text.size() <= kIdLetters + 1 || text[kIdLetters] != '_') return std::nullopt;
  std::string id(text.substr(0, kIdLetters));
  for (const std::size_t at : kDashes) id.insert(at, 1, '-');
  if (!is_uuid(id)) return std::nullopt;
  return LinkToken{LinkId(std::move(id)), text.substr(kIdLetters + 1)};
}

}  // namespace cay
