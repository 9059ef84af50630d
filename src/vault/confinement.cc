#include "vault/confinement.h"

#include <cerrno>

#include "gate/outward_confinement.h"

namespace cay::vault {
namespace {

// Keys are to be on the disk before what they seal.
constexpr auto kOwnCalls = std::to_array<os::AllowedCall>({{SYS_fsync}});
constinit const auto kFilter = os::compile_allow_list(gate::with_outward_calls(kOwnCalls), SECCOMP_RET_ERRNO | ENOSYS);

}  // namespace

Result<int> confine(int vault_directory) { return gate::confine_outward(kFilter.span(), vault_directory); }

}  // namespace cay::vault
