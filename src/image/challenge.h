// A Challenge has the demands of a registry's WWW-Authenticate header (RFC 7235, and the
// distribution project's token protocol).
#pragma once
#include <string>
#include <string_view>

namespace cay::image {

struct Challenge {
  enum class Scheme { kNone, kBasic, kBearer } scheme = Scheme::kNone;  // kNone: another, or broken
  std::string realm{}, service{}, scope{};
};

Challenge parse_challenge(std::string_view header);

}  // namespace cay::image
