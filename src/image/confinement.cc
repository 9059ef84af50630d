#include "image/confinement.h"

#include <cerrno>

#include "os/outward_confinement.h"

namespace cay::image {
namespace {

constexpr auto kOwnCalls = std::to_array<os::AllowedCall>({
    {SYS_flock},  // of a blob that another pull fetches, too
#if __has_feature(address_sanitizer)
    {SYS_pipe2},  // as the broker's (vault/confinement.cc)
#ifdef SYS_pipe
    {SYS_pipe},
#endif
#endif
});
constinit const auto kFilter =
    os::compile_allow_list(os::with_outward_calls(kOwnCalls), SECCOMP_RET_ERRNO | ENOSYS);

}  // namespace

Result<int> confine(int directory, int authorities) {
  return os::confine_outward(kFilter.span(), directory, authorities);
}

}  // namespace cay::image
