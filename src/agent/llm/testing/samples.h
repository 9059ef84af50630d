// One answer in the three wire formats: a thought, a text and two parallel calls.
#pragma once
#include <string>
#include <vector>

#include "agent/llm/endpoint.h"
#include "agent/llm/wire_format.h"

namespace cay::agent::testing {

struct Sample {
  Vendor vendor;
  std::string streamed{};   // as events
  std::string whole{};      // as one object
  std::string signature{};  // of the thought
  Usage usage{};
};

inline std::unique_ptr<WireFormat> format_of(Vendor vendor) {
  if (vendor == Vendor::kAnthropic) return anthropic_format();
  return vendor == Vendor::kOpenAi ? chat_completions_format() : responses_format();
}

inline Message expected_message(const Sample& sample) {
  Message out;
  out.role = Role::kAssistant;
  out.blocks = {Thinking{"Let me see.", sample.signature}, Text{"I run it: é."}};
  out.calls = {{"c1", "execute", R"({"command":"python3 hello.py"})"}, {"c2", "ls", "{}"}};
  return out;
}

inline Sample chat_sample() {
  Sample out{.vendor = Vendor::kOpenAi, .signature = "chat:reasoning_content"};
  out.streamed =
      R"(: a comment

data: {"id":"x","model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}

data: {"model":"m-1","choices":[{"delta":{"reasoning_content":"Let me "}}]}

data: {"model":"m-1","choices":[{"delta":{"reasoning_content":"see."}}]}

data: {"model":"m-1","choices":[{"delta":{"content":"I run "}}]}

data: {"model":"m-1","choices":[{"delta":{"content":"it: é."}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function",)"
      R"("function":{"name":"execute","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function",)"
      R"("function":{"name":"ls","arguments":"{}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,)"
      R"("function":{"arguments":"\"python3 hello.py\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"model":"m-1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,)"
      R"("prompt_tokens_details":{"cached_tokens":64}}}

data: [DONE]

)";
  out.whole =
      R"({"model":"m-1","choices":[{"message":{"role":"assistant","content":"I run it: é.",)"
      R"("reasoning_content":"Let me see.","tool_calls":[)"
      R"({"id":"c1","type":"function","function":{"name":"execute",)"
      R"("arguments":"{\"command\":\"python3 hello.py\"}"}},)"
      R"({"id":"c2","type":"function","function":{"name":"ls","arguments":"{}"}}]},)"
      R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":20,)"
      R"("prompt_tokens_details":{"cached_tokens":64}}})";
  out.usage = {.input = 100, .output = 20, .cache_read = 64};
  return out;
}

inline Sample responses_sample() {
  Sample out{.vendor = Vendor::kOpenAiResponses, .signature = "responses:opaque"};
  const std::string reasoning =
      R"({"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text",)"
      R"("text":"Let me see."}],"encrypted_content":"opaque"})";
  const std::string message =
      R"({"type":"message","id":"msg_1","role":"assistant","status":"completed",)"
      R"("content":[{"type":"output_text","text":"I run it: é.","annotations":[]}]})";
  const std::string first =
      R"({"type":"function_call","id":"fc_1","call_id":"c1","name":"execute",)"
      R"("arguments":"{\"command\":\"python3 hello.py\"}","status":"completed"})";
  const std::string second =
      R"({"type":"function_call","id":"fc_2","call_id":"c2","name":"ls","arguments":"{}"})";
  out.whole =
      R"({"id":"resp_1","object":"response","status":"completed","model":"m-1","error":null,)"
      R"("output":[)" +
      reasoning + "," + message + "," + first + "," + second +
      R"(],"usage":{"input_tokens":100,"output_tokens":20,)"
      R"("input_tokens_details":{"cached_tokens":64}}})";
  const auto event = [](const std::string& type, const std::string& members) {
    return "event: " + type + "\r\ndata: {\"type\":\"" + type + "\"," + members + "}\r\n\r\n";
  };
  out.streamed =
      event("response.created", R"("response":{"id":"resp_1","status":"in_progress"})") +
      event("response.output_item.added", R"("output_index":0,"item":{"type":"reasoning"})") +
      event("response.reasoning_summary_text.delta", R"("output_index":0,"delta":"Let me see.")") +
      event("response.output_item.done", R"("output_index":0,"item":)" + reasoning) +
      event("response.output_item.added", R"("output_index":1,"item":{"type":"message"})") +
      event("response.output_text.delta", R"("output_index":1,"delta":"I run ")") +
      event("response.output_text.delta", R"("output_index":1,"delta":"it: é.")") +
      event("response.output_item.done", R"("output_index":1,"item":)" + message) +
      event("response.output_item.added",
            R"("output_index":2,"item":{"type":"function_call","name":"execute"})") +
      event("response.function_call_arguments.delta",
            R"("output_index":2,"delta":"{\"command\":\"python3 hello.py\"}")") +
      event("response.output_item.done", R"("output_index":2,"item":)" + first) +
      event("response.output_item.added",
            R"("output_index":3,"item":{"type":"function_call","name":"ls"})") +
      event("response.function_call_arguments.delta", R"("output_index":3,"delta":"{}")") +
      event("response.output_item.done", R"("output_index":3,"item":)" + second) +
      event("response.completed", R"("response":)" + out.whole);
  out.usage = {.input = 100, .output = 20, .cache_read = 64};
  return out;
}

inline Sample anthropic_sample() {
  Sample out{.vendor = Vendor::kAnthropic, .signature = "anthropic:sig"};
  const auto event = [](const std::string& type, const std::string& members) {
    return "event: " + type + "\ndata: {\"type\":\"" + type + "\"" + members + "}\n\n";
  };
  out.streamed =
      event("message_start",
            R"(,"message":{"role":"assistant","model":"m-1","content":[],"stop_reason":null,)"
            R"("usage":{"input_tokens":30,"cache_read_input_tokens":60,)"
            R"("cache_creation_input_tokens":10,"output_tokens":1}})") +
      event("content_block_start",
            R"(,"index":0,"content_block":{"type":"thinking","thinking":"","signature":""})") +
      event("ping", "") +
      event("content_block_delta",
            R"(,"index":0,"delta":{"type":"thinking_delta","thinking":"Let me see."})") +
      event("content_block_delta",
            R"(,"index":0,"delta":{"type":"signature_delta","signature":"sig"})") +
      event("content_block_stop", R"(,"index":0)") +
      event("content_block_start", R"(,"index":1,"content_block":{"type":"text","text":""})") +
      event("content_block_delta", R"(,"index":1,"delta":{"type":"text_delta","text":"I run "})") +
      event("content_block_delta", R"(,"index":1,"delta":{"type":"text_delta","text":"it: é."})") +
      event("content_block_stop", R"(,"index":1)") +
      event("content_block_start",
            R"(,"index":2,"content_block":{"type":"tool_use","id":"c1","name":"execute",)"
            R"("input":{}})") +
      event("content_block_delta",
            R"(,"index":2,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"})") +
      event("content_block_delta", R"(,"index":2,"delta":{"type":"input_json_delta",)"
                                   R"("partial_json":"\"python3 hello.py\"}"})") +
      event("content_block_stop", R"(,"index":2)") +
      event("content_block_start",
            R"(,"index":3,"content_block":{"type":"tool_use","id":"c2","name":"ls","input":{}})") +
      event("content_block_stop", R"(,"index":3)") +
      event("message_delta", R"(,"delta":{"stop_reason":"tool_use","stop_sequence":null},)"
                             R"("usage":{"output_tokens":20})") +
      event("message_stop", "");
  out.whole =
      R"({"type":"message","role":"assistant","model":"m-1","content":[)"
      R"({"type":"thinking","thinking":"Let me see.","signature":"sig"},)"
      R"({"type":"text","text":"I run it: é."},)"
      R"({"type":"tool_use","id":"c1","name":"execute","input":{"command":"python3 hello.py"}},)"
      R"({"type":"tool_use","id":"c2","name":"ls","input":{}}],"stop_reason":"tool_use",)"
      R"("usage":{"input_tokens":30,"cache_read_input_tokens":60,)"
      R"("cache_creation_input_tokens":10,"output_tokens":20}})";
  out.usage = {.input = 100, .output = 20, .cache_read = 60, .cache_write = 10};
  return out;
}

inline std::vector<Sample> samples() {
  return {chat_sample(), responses_sample(), anthropic_sample()};
}

}  // namespace cay::agent::testing
