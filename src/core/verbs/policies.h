// Policies: the named network policies of this host, dry runs of them, and questions about
// destinations that no rule decides.
#pragma once
#include <chrono>
#include <string>
#include <vector>

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
  // Lists the sandbox's destinations that wait for an answer, the oldest first. Waits up to `wait`
  // until there is one.
  virtual Task<std::vector<NetworkQuestion>> questions(Principal who, std::string ref,
                                                       std::chrono::milliseconds wait) = 0;
  // Returns the question once the gate goes by the answer. kNotFound (question_not_found): it is
  // not open any more. kPermissionDenied (policy_not_allowed).
  virtual Task<NetworkQuestion> answer(Principal who, std::string ref, NetworkAnswer answer) = 0;
};

}  // namespace cay::core
