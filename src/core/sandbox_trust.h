// SandboxTrust: puts the certificate of a sandbox's own authority where programs inside look for
// it. That authority ends TLS for the hosts of the sandbox's proxy rules.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/jobs.h"
#include "core/ports/runtime.h"

namespace cay::core {

struct Entry;

class SandboxTrust {
 public:
  explicit SandboxTrust(Jobs& jobs) : jobs_(jobs) {}

  // Writes the certificate into the sandbox. Again is no harm; an empty one changes nothing.
  static Task<void> put(std::shared_ptr<LiveSandbox> live, std::string certificate);
  // The same of one that runs, paused or not; else its next start does it.
  static Task<void> make(std::shared_ptr<Entry> entry, std::string certificate);

  // A sandbox, and the certificate of its authority.
  using Trusting = std::pair<std::shared_ptr<Entry>, std::string>;
  // Does the same for each sandbox that trusts another certificate, and logs failures.
  Task<void> renew_all(std::vector<Trusting> all);
  void forget(const SandboxId& gone) { renewed_.erase(gone); }

 private:
  static Task<void> renew(std::shared_ptr<Entry> entry, std::string certificate);

  Jobs& jobs_;
  std::map<SandboxId, std::string> renewed_;  // the certificate that was looked for in it last
};

}  // namespace cay::core
