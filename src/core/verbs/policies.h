// Policies: the named network policies of this host, and dry runs of them.
#pragma once
#include "async/task.h"
#include "model/network.h"
#include "model/principal.h"

namespace cay::core {

class Policies {
 public:
  virtual ~Policies() = default;
  virtual Task<PolicyList> list(Principal who) = 0;
  // A dry run. Names are not resolved, so rules about addresses count for addresses alone.
  virtual Task<PolicyTrial> try_policy(Principal who, PolicyQuestion question) = 0;
};

}  // namespace cay::core
