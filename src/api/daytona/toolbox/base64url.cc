#include "api/daytona/toolbox/base64url.h"

#include <algorithm>

#include "codec/base64.h"

namespace cay::api::daytona {

std::string base64url(std::string_view bytes) {
  std::string out = codec::base64(bytes);
  while (out.ends_with('=')) out.pop_back();
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  constexpr std::size_t kGroup = 4;
  if (text.find_first_of("+/") != std::string_view::npos) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string plain(text);
  std::ranges::replace(plain, '-', '+');
  std::ranges::replace(plain, '_', '/');
  while (plain.size() % kGroup != 0) plain += '=';
  return codec::from_base64(plain);
}

}  // namespace cay::api::daytona
