// ClaimVerbs: core::Claims over the registry. One creation for each claim is under way at a time.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/boot.h"
#include "core/registry.h"
#include "core/settings.h"
#include "core/verbs/claims.h"

namespace cay::core {

class ClaimVerbs : public Claims {
 public:
  ClaimVerbs(std::shared_ptr<Registry> registry, Boots& boots, Sandboxes& sandboxes, Jobs& jobs,
             Timing timing)
      : registry_(std::move(registry)),
        boots_(boots),
        sandboxes_(sandboxes),
        jobs_(jobs),
        timing_(timing) {}

  Task<Ensured> ensure(Principal who, SandboxSpec spec, std::string claim,
                       CreateOptions options) override;

 private:
  using Key = std::pair<TenantId, std::string>;
  using Making = std::shared_ptr<Outcome<Sandbox>>;

  // Null: nobody holds the claim.
  Result<std::shared_ptr<Entry>> holder_of(const Principal& who, const std::string& claim);
  // Makes the sandbox as a job, and reports to all that wait for it.
  Task<void> make(Principal who, SandboxSpec spec, CreateOptions options, Making making);
  // Returns once the sandbox runs, or rests without its claim.
  Task<void> bring_up(std::shared_ptr<Entry> entry, std::string claim, std::string by,
                      Event::Deadline deadline);

  std::shared_ptr<Registry> registry_;
  Boots& boots_;
  Sandboxes& sandboxes_;
  Jobs& jobs_;
  const Timing timing_;
  // Shared with the jobs, which may end after this object.
  std::shared_ptr<std::map<Key, Making>> making_ = std::make_shared<std::map<Key, Making>>();
};

}  // namespace cay::core
