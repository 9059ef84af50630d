#include "vault/confinement.h"

#include <cerrno>

#include "os/outward_confinement.h"

namespace cay::vault {
namespace {

constexpr auto kOwnCalls = std::to_array<os::AllowedCall>({
    {SYS_fsync},  // keys are to be on the disk before what they seal
#if __has_feature(address_sanitizer)
    {SYS_pipe2},  // UBSan tests through a pipe whether memory is readable, and takes a refusal for
                  // a broken object
#ifdef SYS_pipe
    {SYS_pipe},
#endif
#endif
});
constinit const auto kFilter =
    os::compile_allow_list(os::with_outward_calls(kOwnCalls), SECCOMP_RET_ERRNO | ENOSYS);

}  // namespace

Result<int> confine(int vault_directory) {
  return os::confine_outward(kFilter.span(), vault_directory);
}

}  // namespace cay::vault
