#include "model/principal.h"

#include <array>
#include <utility>

namespace cay {
namespace {

constexpr std::array<std::pair<KeyScope, std::string_view>, 5> kScopes{
    {{KeyScope::kAdmin, "admin"},
     {KeyScope::kCreate, "create"},
     {KeyScope::kRead, "read"},
     {KeyScope::kUse, "use"},
     {KeyScope::kMonitor, "monitor"}}};

}  // namespace

std::string_view text_of(KeyScope scope) {
  for (const auto& [known, text] : kScopes) {
    if (known == scope) return text;
  }
  return "";
}

std::optional<KeyScope> scope_of(std::string_view text) {
  for (const auto& [known, name] : kScopes) {
    if (name == text) return known;
  }
  return std::nullopt;
}

bool allows(KeyScope scope, Right right) {
  if (right == Right::kAny) return true;
  switch (scope) {
    case KeyScope::kAdmin: return true;
    case KeyScope::kCreate: return right != Right::kHost && right != Right::kWatchHost;
    case KeyScope::kRead: return right == Right::kRead || right == Right::kReadOne;
    case KeyScope::kUse: return right == Right::kReadOne || right == Right::kUseOne;
    case KeyScope::kMonitor: return right == Right::kWatchHost;
  }
  return false;
}

}  // namespace cay
