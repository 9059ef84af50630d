// AgentSession: one thread in this terminal. It opens the thread, shows its runs, and gets the
// approvals that they wait for.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "agent/loop/agent.h"
#include "agent/threads/log.h"
#include "cli/agent_args.h"
#include "cli/agent_destinations.h"
#include "cli/agent_approvals.h"
#include "cli/agent_feed.h"
#include "cli/agent_loop.h"
#include "cli/context.h"

namespace cay::cli {

class AgentSession {
 public:
  // Opens the thread and its sandbox. Throws ApiError. A failure has its remedy.
  AgentSession(Context& at, const AgentArgs& args);

  // Runs until the agent ends, or waits for an approval that nobody here can give.
  agent::RunResult run(std::string input);
  agent::RunResult resume();
  agent::RunResult decide(const std::vector<std::string>& decisions);

  const std::string& thread() const { return agent_->thread(); }
  std::vector<agent::PendingCall> pending() const { return agent_->pending(); }
  // Empty: there is none yet.
  std::string sandbox() const;
  const std::string& provider() const { return provider_; }
  std::vector<agent::ThreadEvent> events() const;
  void rewind(std::uint64_t to_seq);
  void remove_sandbox();

 private:
  agent::RunResult settled(agent::RunResult result);
  agent::RunResult driven(Task<agent::RunResult> task);

  bool json_;
  std::string provider_;
  AgentLoop loop_;
  std::unique_ptr<agent::ThreadLog> log_;
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<agent::Observer> face_;
  std::unique_ptr<DestinationWatch> destinations_;     // null: they wait for nobody
  std::unique_ptr<agent::Observer> destination_feed_;  // between the feed and the face
  std::unique_ptr<AgentFeed> feed_;
};

// The options of the command line. An image is pulled where it is not here.
Result<agent::AgentOptions> session_options(Context& at, const AgentArgs& args);

// The daemon's side of a watch of destinations, by a client of its own for another thread, and
// stderr for its notes. It has no `answer` yet.
DestinationFace daemon_destinations();

// How this terminal is written and read.
bool wants_colour();
// Both stdin and stderr are a terminal: somebody can answer.
bool can_ask();
Questioner terminal_questioner();

// The id of the thread that `--resume` means: the latest one where it has none. Throws ApiError.
std::string resumed_thread(agent::ThreadLog& log, const AgentArgs& args);
std::unique_ptr<agent::ThreadLog> open_threads();

}  // namespace cay::cli
