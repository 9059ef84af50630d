#include "keeper/seccomp_filter.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "keeper/seccomp_profiles.h"

namespace cay::keeper {
namespace {

constinit const FilterProgram kDefaultFilter =
    compile_filter(rules_of(Profile::kDefault), kThisArch);
constinit const FilterProgram kStrictFilter = compile_filter(rules_of(Profile::kStrict), kThisArch);
constinit const FilterProgram kNestedFilter = compile_filter(rules_of(Profile::kNested), kThisArch);

const FilterProgram& filter_of(Profile profile) {
  switch (profile) {
    case Profile::kDefault: return kDefaultFilter;
    case Profile::kStrict: return kStrictFilter;
    case Profile::kNested: return kNestedFilter;
  }
  return kStrictFilter;
}

}  // namespace

int load_guest_filter(Profile profile) {
  const FilterProgram& filter = filter_of(profile);
  // The kernel copies the program; the cast only drops a const that the C declaration lacks.
  sock_fprog program{filter.length, const_cast<sock_filter*>(filter.code.data())};
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

}  // namespace cay::keeper
