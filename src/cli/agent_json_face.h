// JsonFace: a run of an agent for programs, one JSON object a line. Events are as in the thread's
// log, with their `thread`: subagents have their own. Passing pieces are shown with `stream` alone:
// {"type":"delta",…} and {"type":"tool_output",…}.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "agent/loop/agent.h"

namespace cay::cli {

struct JsonFaceOptions {
  bool stream = false;
  std::function<void(std::string_view)> write;
};

class JsonFace : public agent::Observer {
 public:
  explicit JsonFace(JsonFaceOptions options) : options_(std::move(options)) {}
  void on_event(const std::string& thread, const agent::ThreadEvent& event) override;
  void on_delta(const std::string& thread, const agent::Delta& delta) override;
  void on_tool_output(const std::string& thread, const std::string& call_id,
                      std::string_view bytes) override;

 private:
  void write(const std::string& thread, codec::json::object line) const;

  JsonFaceOptions options_;
};

}  // namespace cay::cli
