// The file of `cay agent --tasks`: a task a line, as JSON. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cay::cli {

struct AgentTask {
  std::string id;  // a file name: letters, digits, '.', '_' and '-'
  std::string prompt;
  std::string system, model, snapshot, policy;             // empty: those of the command line
  std::vector<std::pair<std::string, std::string>> files;  // path inside -> content, before the run
  std::vector<std::string> collect;                        // paths inside, after the run
  std::uint64_t max_steps = 0;                             // 0: that of the command line
  double timeout_s = 0;
};

// Fails kInvalidArgument (invalid_task). The message has the line.
Result<std::vector<AgentTask>> parse_tasks(std::string_view text);

}  // namespace cay::cli
