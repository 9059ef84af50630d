// Accounts of the default snapshot: the distribution's own, those of packages, and `user`. The
// host's people are not among them.
#pragma once
#include <string>
#include <string_view>

namespace cay::launcher {

struct Accounts {
  std::string passwd, group, shadow, gshadow;
};

// From the distribution's lists (base-passwd; may be empty) and the host's files.
Accounts make_accounts(std::string_view base_passwd, std::string_view base_group,
                       std::string_view host_passwd, std::string_view host_group);

}  // namespace cay::launcher
