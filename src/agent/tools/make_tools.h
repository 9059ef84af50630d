// make_tools: the built-in tools of an agent, with the names, parameters and texts of deepagents.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/tools/permissions.h"
#include "agent/tools/tool.h"
#include "agent/tools/web_policy.h"
#include "providers/backend.h"

namespace cay::agent {

struct ToolOptions {
  std::vector<FilesystemPermission> permissions{};
  bool todos = false;       // offers write_todos
  bool background = true;   // offers execute_status, execute_input and execute_kill, where it can
  bool run_code = true;     // where the provider has it
  bool sees_images = true;  // else a placeholder stands for an image
  WebPolicy web{};          // offers web_fetch and web_search where it allows something

  std::uint64_t grep_max_count = 1000;
  std::uint64_t max_execute_timeout_s = 3600;
  std::uint64_t max_media_bytes = 512'000;
  std::size_t max_output_bytes = 4u << 20;  // of a command: its first and last halves
};

// The tools share `backend`. Fails kUnsupported (permissions_need_mounts) for file rules that do
// not bind its shell: they are no mounts (permission_mounts.h), or its sandbox does not hold them.
Result<Tools> checked_tools(std::shared_ptr<providers::Backend> backend, ToolOptions options);

// The same for options that are known to be good: without file rules, or checked before.
Tools make_tools(std::shared_ptr<providers::Backend> backend, ToolOptions options = {});

}  // namespace cay::agent
