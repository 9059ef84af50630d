// cay agent --tasks: many tasks, each in a sandbox of its own.
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "cli/agent_actions.h"
#include "cli/agent_loop.h"
#include "cli/agent_mcp.h"
#include "cli/agent_outcome.h"
#include "cli/agent_session.h"
#include "cli/agent_task_runner.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "codec/lenient.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

std::vector<AgentTask> tasks_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw ApiError(ErrorCode::kInvalidArgument, "local_file", path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto tasks = parse_tasks(text);
  if (!tasks)
    throw ApiError(ErrorCode::kInvalidArgument, tasks.error().reason,
                   path + ": " + tasks.error().message);
  return *std::move(tasks);
}

// The results so far, for the exit code and the last line.
struct Tally {
  std::size_t all = 0, skipped = 0, ended = 0, agent = 0, infrastructure = 0;

  void add(const json::object& result) {
    ++ended;
    const std::string failure = codec::string_at(result, "failure");
    if (failure == "agent") ++agent;
    if (failure == "infrastructure") ++infrastructure;
  }
  int code() const {
    if (skipped + ended < all) return kInterrupted;
    if (infrastructure != 0) return kOurFailure;
    return agent != 0 ? kAgentEnded : kOk;
  }
  std::string text() const {
    return std::to_string(ended - agent - infrastructure) + " done, " + std::to_string(agent) +
           " ended by the agent's fault, " + std::to_string(infrastructure) +
           " by a failure of infrastructure" +
           (skipped == 0 ? "" : ", " + std::to_string(skipped) + " were done before");
  }
};

void show(const json::object& result, const Tally& tally) {
  std::string line = std::to_string(tally.skipped + tally.ended) + "/" + std::to_string(tally.all) +
                     " " + codec::string_at(result, "id") + ": " +
                     codec::string_at(result, "state");
  if (const std::string why = codec::string_at(result, "reason"); !why.empty())
    line += " (" + why + ")";
  if (const auto tries = result.at("tries").as_array().size(); tries > 1)
    line += ", " + std::to_string(tries) + " attempts";
  print_error(printable(line));
}

}  // namespace

int agent_tasks(Context& at, const AgentArgs& args) {
  std::vector<AgentTask> tasks = tasks_of(args.tasks);
  const auto log = open_threads();
  std::optional<AgentResults> results;
  if (!args.output.empty())
    results.emplace(client::value_or_raise(AgentResults::open(args.output)));
  Tally tally{.all = tasks.size()};
  if (results)
    tally.skipped =
        std::erase_if(tasks, [&](const AgentTask& task) { return results->is_done(task.id); });
  if (!tasks.empty()) {
    AgentTaskOptions options{.agent = client::value_or_raise(session_options(at, args)),
                             .parallel = args.parallel,
                             .retries = args.retries,
                             .results = results ? &*results : nullptr,
                             .log = log.get(),
                             .on_result = [&](const json::object& result) {
                               tally.add(result);
                               if (at.json) print(codec::write(result) + "\n");
                               if (!at.json) show(result, tally);
                             }};
    AgentLoop loop;
    options.agent.tools = loop.wait(mcp_tools_of(loop.executor(), args.mcp));
    AgentTaskRunner runner(loop.executor(), std::move(tasks), std::move(options));
    loop.wait(runner.run(), [&runner] { runner.cancel(); });
  }
  print_error(tally.text());
  return tally.code();
}

}  // namespace cay::cli
