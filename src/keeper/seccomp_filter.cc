#include "keeper/seccomp_filter.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "keeper/seccomp_profiles.h"

namespace cay::keeper {
namespace {

struct Filters {
  FilterProgram whole, ahead, last;
};

constexpr Filters filters_of(Profile profile) {
  return {.whole = compile_filter(rules_of(profile), kThisArch),
          .ahead = compile_filter(rules_ahead(profile), kThisArch),
          .last = compile_filter(rules_at_last(profile), kThisArch)};
}

constinit const Filters kDefaultFilters = filters_of(Profile::kDefault);
constinit const Filters kStrictFilters = filters_of(Profile::kStrict);
constinit const Filters kNestedFilters = filters_of(Profile::kNested);

const Filters& all_of(Profile profile) {
  switch (profile) {
    case Profile::kDefault: return kDefaultFilters;
    case Profile::kStrict: return kStrictFilters;
    case Profile::kNested: return kNestedFilters;
  }
  return kStrictFilters;
}

const FilterProgram& filter_of(Profile profile, FilterPart part) {
  const Filters& all = all_of(profile);
  switch (part) {
    case FilterPart::kWhole: return all.whole;
    case FilterPart::kAhead: return all.ahead;
    case FilterPart::kLast: return all.last;
  }
  return all.whole;
}

}  // namespace

int load_guest_filter(Profile profile, FilterPart part) {
  const FilterProgram& filter = filter_of(profile, part);
  // The kernel copies the program; the cast only drops a const that the C declaration lacks.
  sock_fprog program{filter.length, const_cast<sock_filter*>(filter.code.data())};
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

}  // namespace cay::keeper
