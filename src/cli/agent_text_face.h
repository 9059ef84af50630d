// TextFace: a run of an agent, for people. The agent's words go to `answer`. All else goes to
// `note`: calls with their output, and at the end usage and cost. A subagent's calls are the output
// of the call that began it.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "agent/loop/agent.h"
#include "cli/agent_calls.h"
#include "cli/agent_text.h"

namespace cay::cli {

struct TextFaceOptions {
  std::string thread;                            // the one that runs
  std::function<void(std::string_view)> answer;  // stdout
  std::function<void(std::string_view)> note;    // stderr
  bool colour = false;
};

class TextFace : public agent::Observer {
 public:
  explicit TextFace(TextFaceOptions options);
  // Takes an event of a former run, whose calls may go on now. Shows nothing.
  void remember(const agent::ThreadEvent& event);
  void on_event(const std::string& thread, const agent::ThreadEvent& event) override;
  void on_delta(const std::string& thread, const agent::Delta& delta) override;
  void on_tool_output(const std::string& thread, const std::string& call_id,
                      std::string_view bytes) override;

 private:
  void on_assistant(const codec::json::object& data);
  void on_tool_started(const codec::json::object& data);
  void on_tool_ended(const codec::json::object& data);
  void on_sandbox(const codec::json::object& data);
  void on_subagent(const std::string& thread, const agent::ThreadEvent& event);
  void on_run_ended(const codec::json::object& data);
  void answer(std::string_view text);
  void end_line();
  void note(std::string_view text, Paint paint = Paint::kDim);

  TextFaceOptions options_;
  CallBlocks blocks_;
  PrintableStream text_;
  bool in_line_ = false;   // the agent has begun a line
  bool streamed_ = false;  // this answer came in pieces
  std::map<std::string, std::pair<std::string, std::string>, std::less<>>
      asked_;                                     // name, arguments
  std::map<std::string, std::string> subagents_;  // thread -> the call that began it
};

// Returns "done: 3 steps, 1,234 tokens in, 56 out, $0.0021" for the data of run_ended.
std::string run_summary(const codec::json::object& data);

}  // namespace cay::cli
