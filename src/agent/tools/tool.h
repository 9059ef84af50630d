// Tool: one thing that a model may do. Its name, parameters and texts are what the model sees.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/message.h"
#include "async/task.h"

namespace cay::agent {

struct ToolContext {
  std::string call_id;  // of the model; unique in the thread
  // Unique in all threads, and the same when a call is resumed after a crash. A tool attaches to an
  // execution of this id, and never runs it twice.
  std::string execution_id;
  bool resumed = false;                                     // a former process began this call
  std::function<void(std::string_view bytes)> on_output{};  // what a running tool prints
};

struct ToolResult {
  std::vector<Block> blocks;
  bool failed = false;             // the call was invalid: nothing was done
  codec::json::object artifact{};  // for programs, never for the model: {"exit_code": 0}

  static ToolResult of(std::string text);
  static ToolResult failure(std::string text);  // "Error: …"
};

// May a call of a crashed process run once more?
enum class Repeat : unsigned char {
  kYes,     // it changes nothing, or the same thing again
  kAttach,  // it finds its former execution by ToolContext::execution_id
  kNo,      // the model gets an error: the outcome is unknown
};

class Tool {
 public:
  virtual ~Tool() = default;
  virtual const ToolSpec& spec() const = 0;
  virtual Repeat repeat() const = 0;
  // An Error is a failure of infrastructure, never of the model's request: those are a ToolResult
  // with `failed`. `arguments` is checked to be an object, and nothing else.
  virtual Task<ToolResult> run(codec::json::object arguments, ToolContext context) = 0;
  // Ends what a cancelled run() left running. Returns the call's result. nullopt: the tool left
  // nothing, or the call goes on when its thread is resumed.
  virtual Task<std::optional<ToolResult>> stop(codec::json::object arguments, ToolContext context);
};

using Tools = std::vector<std::shared_ptr<Tool>>;

}  // namespace cay::agent
