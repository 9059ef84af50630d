#include "gate/confinement.h"

#include <cerrno>

#include "os/outward_confinement.h"

namespace cay::gate {
namespace {

// Bytes that it passes on stay in the kernel (pump.h).
constexpr auto kOwnCalls =
    std::to_array<os::AllowedCall>({{SYS_splice}, {SYS_pipe2}, {SYS_fcntl, {{{1, F_SETPIPE_SZ}}}}});
constinit const auto kFilter =
    os::compile_allow_list(os::with_outward_calls(kOwnCalls), SECCOMP_RET_ERRNO | ENOSYS);

}  // namespace

Result<int> confine(int gate_directory, int rules_directory) {
  return os::confine_outward(kFilter.span(), gate_directory, rules_directory);
}

}  // namespace cay::gate
