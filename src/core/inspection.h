// InspectionVerbs: core::Inspection over the runtime's records and the gate's reports.
#pragma once
#include <memory>
#include <utility>

#include "core/jobs.h"
#include "core/proxies.h"
#include "core/registry.h"
#include "core/rule_work.h"
#include "core/settings.h"
#include "core/verbs/inspection.h"

namespace cay::core {

class InspectionVerbs : public Inspection {
 public:
  InspectionVerbs(std::shared_ptr<Registry> registry, Jobs& jobs, const Proxies& proxies,
                  RuleWork& rule_work, const Defaults& defaults)
      : registry_(std::move(registry)),
        jobs_(jobs),
        proxies_(proxies),
        rule_work_(rule_work),
        defaults_(defaults) {}

  Task<SandboxStats> stats(Principal who, std::string ref) override;
  Task<ProgramPage> programs(Principal who, std::string ref, std::uint64_t offset,
                             std::uint32_t limit) override;
  Task<NetworkReport> network(Principal who, std::string ref) override;
  Task<DecidedPage> decisions(Principal who, std::string ref, DecidedQuery query,
                              std::chrono::milliseconds wait) override;

 private:
  std::shared_ptr<Registry> registry_;
  Jobs& jobs_;
  const Proxies& proxies_;
  RuleWork& rule_work_;
  const Defaults& defaults_;
};

}  // namespace cay::core
