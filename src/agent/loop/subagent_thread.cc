#include "agent/loop/subagent_thread.h"

#include <utility>

namespace cay::agent {

Result<std::optional<ThreadState>> subagent_state(ThreadLog& log, const std::string& thread,
                                                  const std::string& parent) {
  auto info = log.info(thread);
  if (!info && info.error().code == Code::kNotFound) return std::optional<ThreadState>();
  if (!info) return std::move(info).error();
  if (info->parent != parent) return std::optional<ThreadState>();
  CAY_TRY(const auto events, log.events(thread));
  return std::optional(replay(events));
}

}  // namespace cay::agent
