// The policies that Cay brings, by name. Hosts are reached at 443 by TLS. Hosts of signed archives
// that come over plain HTTP are reached at 80, too.
#pragma once
#include <span>
#include <string_view>

namespace cay::policy {

struct Preset {
  std::string_view name, about;
  std::string_view rules;  // as rule_set.h reads them
};

// Each names only presets before it.
std::span<const Preset> presets();

}  // namespace cay::policy
