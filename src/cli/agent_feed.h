// AgentFeed: passes a thread's events to a face in order, with those that came before the observer:
// opening a thread makes some.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/loop/agent.h"
#include "agent/threads/log.h"

namespace cay::cli {

class AgentFeed : public agent::Observer {
 public:
  // Events of `thread` up to `shown` are passed by. All outlive the feed.
  AgentFeed(agent::Observer& face, agent::ThreadLog& log, std::string thread, std::uint64_t shown)
      : face_(face), log_(log), thread_(std::move(thread)), shown_(shown) {}

  void on_event(const std::string& thread, const agent::ThreadEvent& event) override;
  void on_delta(const std::string& thread, const agent::Delta& delta) override;
  void on_tool_output(const std::string& thread, const std::string& call_id,
                      std::string_view bytes) override;

 private:
  agent::Observer& face_;
  agent::ThreadLog& log_;
  std::string thread_;
  std::uint64_t shown_;
};

}  // namespace cay::cli
