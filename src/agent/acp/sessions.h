// Sessions: the conversations that an editor holds. The program implements it over threads.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "agent/llm/model.h"
#include "agent/threads/event.h"
#include "async/task.h"

namespace cay::agent::acp {

enum class Permission : unsigned char { kGranted, kRefused };
// For a destination that no rule of the sandbox's policy decides. kAlways adds a rule.
enum class NetworkPermission : unsigned char { kOnce, kAlways, kRefused };

// How a running prompt reaches the editor.
struct Watch {
  std::function<void(const ThreadEvent&)> on_event;
  std::function<void(const Delta&)> on_delta;
  // Returns one for each call, in their order.
  std::function<Task<std::vector<Permission>>(std::vector<ToolCall>)> ask;
  // `question`: the daemon's id of it. `destination`: "host:port", as it is shown.
  std::function<Task<NetworkPermission>(std::string question, std::string destination)> ask_network;
};

class Sessions {
 public:
  virtual ~Sessions() = default;
  // `mcp_servers` as session/new has them. Returns the id.
  virtual Task<std::string> create(codec::json::array mcp_servers) = 0;
  // Returns the events of a former session. Fails kNotFound (thread_not_found).
  virtual Task<std::vector<ThreadEvent>> load(std::string id, codec::json::array mcp_servers) = 0;
  // Runs until the agent ends. Returns the data of run_ended.
  virtual Task<codec::json::object> prompt(std::string id, std::vector<Block> blocks,
                                           Watch watch) = 0;
  // Ends the prompt that runs, with the state `cancelled`.
  virtual void cancel(const std::string& id) = 0;
};

}  // namespace cay::agent::acp
