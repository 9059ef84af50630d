#include "core/removal_reason.h"

namespace cay::core {
namespace {

constexpr std::string_view kBehind = ": ";

}  // namespace

std::string_view why_removed(std::string_view reason) {
  for (const std::string_view why : {kRemovedByLifetime, kRemovedAfterStop, kRemovedNeverCameUp}) {
    if (!reason.starts_with(why)) continue;
    const auto rest = reason.substr(why.size());
    if (rest.empty() || rest.starts_with(kBehind)) return why;
  }
  return {};
}

std::string removal_held_up(std::string_view why, std::string_view trouble) {
  std::string out(why);
  if (!out.empty()) out += kBehind;
  return out.append(trouble);
}

}  // namespace cay::core
