// Inspection: reports what a sandbox uses, ran and connected to, in any state. It never wakes one.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "async/task.h"
#include "core/ports/runtime.h"
#include "model/network.h"
#include "model/principal.h"
#include "model/program.h"

namespace cay::core {

class Inspection {
 public:
  virtual ~Inspection() = default;
  // Returns zeros for a sandbox that does not run.
  virtual Task<SandboxStats> stats(Principal who, std::string ref) = 0;
  // Reads the program record. Fails kNotFound (programs_not_recorded).
  virtual Task<ProgramPage> programs(Principal who, std::string ref, std::uint64_t offset,
                                     std::uint32_t limit) = 0;
  // Reports the connections that it tried.
  virtual Task<NetworkReport> network(Principal who, std::string ref) = 0;
  // Returns decisions one by one. Waits up to `wait` until there is one. Fails kOutOfRange
  // (decision_ahead).
  virtual Task<DecidedPage> decisions(Principal who, std::string ref, DecidedQuery query,
                                      std::chrono::milliseconds wait) = 0;
};

}  // namespace cay::core
