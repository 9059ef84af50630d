// cay agent --acp: threads as the sessions of an editor.
#include <unistd.h>

#include <boost/asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "agent/acp/server.h"
#include "agent/threads/log.h"
#include "agent/tools/mcp.h"
#include "cli/agent_actions.h"
#include "cli/agent_destinations.h"
#include "cli/agent_loop.h"
#include "cli/agent_mcp.h"
#include "cli/agent_session.h"
#include "cli/agent_settings.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/stdin_lines.h"

namespace cay::cli {
namespace {

namespace acp = agent::acp;
namespace json = codec::json;

constexpr std::size_t kLongestLine = 32u << 20;  // a prompt may have images
constexpr std::chrono::milliseconds kAnswerPause{100};

// Passes the events of one thread, and none of its subagents.
class WatchedRun : public agent::Observer {
 public:
  WatchedRun(std::string thread, acp::Watch watch)
      : thread_(std::move(thread)), watch_(std::move(watch)) {}
  void on_event(const std::string& thread, const agent::ThreadEvent& event) override {
    if (thread == thread_) watch_.on_event(event);
  }
  void on_delta(const std::string& thread, const agent::Delta& delta) override {
    if (thread == thread_) watch_.on_delta(delta);
  }
  Task<std::vector<agent::Decision>> decisions(std::vector<agent::PendingCall> calls) const {
    std::vector<agent::ToolCall> asked;
    for (const auto& call : calls) asked.push_back({call.call_id, call.name, call.arguments});
    auto asking = watch_.ask(std::move(asked));
    auto permissions = co_await std::move(asking);
    if (!permissions) co_return std::move(permissions).error();
    std::vector<agent::Decision> out;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool granted = permissions->at(i) == acp::Permission::kGranted;
      out.push_back(
          {.call_id = calls[i].call_id,
           .type = granted ? agent::Decision::Type::kApprove : agent::Decision::Type::kReject,
           .seen = calls[i].arguments});
    }
    co_return out;
  }

 private:
  std::string thread_;
  acp::Watch watch_;
};

std::optional<DestinationAnswer> answer_of(const Result<acp::NetworkPermission>& permission) {
  if (!permission) return std::nullopt;  // the editor is gone: the question expires by itself
  return DestinationAnswer{.allowed = *permission != acp::NetworkPermission::kRefused,
                           .always = *permission == acp::NetworkPermission::kAlways};
}

// The editor answers on the loop, while the watch's own thread waits.
DestinationFace editor_destinations(const asio::any_io_executor& loop, const acp::Watch& watch) {
  DestinationFace face = daemon_destinations();
  face.answer = [loop, ask = watch.ask_network](
                    const Destination& one,
                    const std::function<bool()>& is_over) -> std::optional<DestinationAnswer> {
    auto asking = asio::co_spawn(loop, ask(one.id, one.text()), asio::use_future);
    while (asking.wait_for(kAnswerPause) != std::future_status::ready) {
      if (is_over()) return std::nullopt;
    }
    try {
      return answer_of(asking.get());
    } catch (const std::exception&) {
      return std::nullopt;  // the loop ends
    }
  };
  return face;
}

class ThreadSessions : public acp::Sessions {
 public:
  ThreadSessions(asio::any_io_executor loop, agent::AgentOptions options, bool asks_network)
      : loop_(std::move(loop)), options_(std::move(options)), asks_network_(asks_network) {}

  Task<std::string> create(json::array mcp_servers) override {
    return open({}, std::move(mcp_servers));
  }

  Task<std::vector<agent::ThreadEvent>> load(std::string id, json::array mcp_servers) override {
    auto opening = open(id, std::move(mcp_servers));
    auto opened = co_await std::move(opening);
    if (!opened) co_return std::move(opened).error();
    CAY_CO_TRY(auto log, agent::ThreadLog::open(agent::default_state_path()));
    co_return log->events(id, 0);
  }

  Task<json::object> prompt(std::string id, std::vector<agent::Block> blocks,
                            acp::Watch watch) override {
    agent::Agent& agent = *agents_.at(id);
    std::optional<DestinationWatch> destinations;
    if (asks_network_) {
      destinations.emplace(editor_destinations(loop_, watch));
      if (agent.backend() != nullptr) destinations->add(agent.backend()->id());
    }
    WatchedRun run(id, std::move(watch));
    std::optional<DestinationFeed> feed;
    std::optional<DestinationWatch::Watching> watching;
    if (destinations) {
      feed.emplace(run, *destinations);
      watching.emplace(*destinations);
    }
    agent::Observer* observer = feed ? static_cast<agent::Observer*>(&*feed) : &run;
    auto running = agent.run(std::move(blocks), observer);
    auto result = co_await std::move(running);
    while (result && result->state == agent::RunState::kWaiting) {
      auto deciding = run.decisions(result->pending);
      auto decisions = co_await std::move(deciding);
      if (!decisions) co_return std::move(decisions).error();
      auto going_on = agent.approve(*std::move(decisions), observer);
      auto next = co_await std::move(going_on);
      result = std::move(next);
    }
    if (!result) co_return std::move(result).error();
    if (result->state == agent::RunState::kFailed)
      co_return Error{Code::kUnavailable, result->reason, result->message, 0};
    co_return json::object{{"state", agent::to_string(result->state)}, {"reason", result->reason}};
  }

  void cancel(const std::string& id) override {
    const auto found = agents_.find(id);
    if (found != agents_.end()) found->second->cancel();
  }

 private:
  Task<std::string> open(std::string thread, json::array mcp_servers) {
    agent::AgentOptions options = options_;
    auto connecting = agent::mcp_tools(loop_, editor_servers(mcp_servers));
    auto tools = co_await std::move(connecting);
    if (!tools) co_return std::move(tools).error();
    options.tools.insert(options.tools.end(), tools->begin(), tools->end());
    options.thread = std::move(thread);
    auto opening = agent::Agent::open(loop_, std::move(options));
    auto opened = co_await std::move(opening);
    if (!opened) co_return std::move(opened).error();
    std::string id = (*opened)->thread();
    agents_[id] = *std::move(opened);
    co_return id;
  }

  asio::any_io_executor loop_;
  agent::AgentOptions options_;
  bool asks_network_;
  std::map<std::string, std::unique_ptr<agent::Agent>> agents_;
};

Task<void> serve(acp::Server& server, Channel<std::string>& lines) {
  auto serving = server.serve(lines);
  co_await std::move(serving);
  co_return Result<void>();
}

}  // namespace

int agent_acp(Context& at, const AgentArgs& args) {
  AgentLoop loop;
  auto options = client::value_or_raise(session_options(at, args));
  options.tools = loop.wait(mcp_tools_of(loop.executor(), args.mcp));
  ThreadSessions sessions(loop.executor(), std::move(options), args.ask_network);
  acp::Server server(loop.executor(), sessions, {.version = CAY_VERSION, .sees_images = true},
                     [](std::string line) { print(line); });
  StdinLines input(loop.executor(), STDIN_FILENO, kLongestLine);
  loop.wait(serve(server, input.lines()));
  return kOk;
}

}  // namespace cay::cli
