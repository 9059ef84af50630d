// OpenAI's Responses API. Nothing is stored at the vendor: each request carries the conversation.
#include <map>
#include <optional>
#include <utility>

#include "agent/llm/content.h"
#include "agent/llm/reply_builder.h"
#include "agent/llm/strict_json.h"
#include "agent/llm/wire_format.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

// Marks thoughts whose encrypted form follows. The vendor wants that form back.
constexpr std::string_view kEncrypted = "responses:";

json::object input_text(std::string_view text) {
  return {{"type", "input_text"}, {"text", codec::text(text)}};
}

json::object input_media(const Media& media, const RequestOptions& options) {
  if (options.sees_images && is_image(media))
    return {{"type", "input_image"}, {"image_url", codec::text(data_url(media))}};
  if (options.sees_images && is_pdf(media))
    return {{"type", "input_file"},
            {"filename", "document.pdf"},
            {"file_data", codec::text(data_url(media))}};
  return input_text(unseen(media));
}

json::array parts_of(const Message& message, const RequestOptions& options) {
  json::array parts;
  for (const Block& block : message.blocks) {
    if (const auto* text = std::get_if<Text>(&block)) parts.emplace_back(input_text(text->text));
    if (const auto* media = std::get_if<Media>(&block))
      parts.emplace_back(input_media(*media, options));
  }
  return parts;
}

void add_assistant(json::array& out, const Message& message) {
  for (const Block& block : message.blocks) {
    const auto* thinking = std::get_if<Thinking>(&block);
    if (thinking == nullptr || !thinking->signature.starts_with(kEncrypted)) continue;
    json::array summary;
    if (!thinking->text.empty())
      summary.emplace_back(
          json::object{{"type", "summary_text"}, {"text", codec::text(thinking->text)}});
    out.emplace_back(json::object{
        {"type", "reasoning"},
        {"summary", std::move(summary)},
        {"encrypted_content", codec::text(thinking->signature.substr(kEncrypted.size()))}});
  }
  const std::string text = message.text();
  if (!text.empty()) {
    json::array parts;
    parts.emplace_back(json::object{{"type", "output_text"}, {"text", codec::text(text)}});
    out.emplace_back(
        json::object{{"type", "message"}, {"role", "assistant"}, {"content", std::move(parts)}});
  }
  for (const ToolCall& call : message.calls) {
    out.emplace_back(json::object{{"type", "function_call"},
                                  {"call_id", codec::text(call.id)},
                                  {"name", codec::text(call.name)},
                                  {"arguments", codec::text(arguments_text(call.arguments))}});
  }
}

json::array input_of(const ModelRequest& request, const RequestOptions& options) {
  json::array out;
  for (const Message& message : request.messages) {
    if (message.role == Role::kAssistant) {
      add_assistant(out, message);
    } else if (message.role == Role::kTool) {
      json::value output = codec::text(message.text());
      if (!is_text_only(message)) output = parts_of(message, options);
      out.emplace_back(json::object{{"type", "function_call_output"},
                                    {"call_id", codec::text(message.call_id)},
                                    {"output", std::move(output)}});
    } else {
      out.emplace_back(json::object{{"type", "message"},
                                    {"role", message.role == Role::kSystem ? "system" : "user"},
                                    {"content", parts_of(message, options)}});
    }
  }
  return out;
}

class ResponsesReader final : public AnswerReader {
 public:
  explicit ResponsesReader(OnDelta on_delta)
      : on_delta_(std::move(on_delta)), builder_(OnDelta()) {}

  Result<void> on_event(const json::object& event) override {
    CAY_TRY(const std::string type, text_member(event, "type"));
    if (type == "error") {
      const json::value* error = event.if_contains("error");
      return to_error(error != nullptr && !error->is_null() ? vendor_error_of(*error)
                                                            : vendor_error_of(event));
    }
    if (type == "response.output_text.delta" || type == "response.refusal.delta")
      return report(Delta::Kind::kText, event);
    if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta")
      return report(Delta::Kind::kThinking, event);
    if (type == "response.function_call_arguments.delta")
      return report(Delta::Kind::kCallArguments, event);
    if (type == "response.output_item.added") return on_item_begin(event);
    if (type == "response.output_item.done") return on_item_end(event);
    if (type == "response.completed" || type == "response.incomplete" ||
        type == "response.failed") {
      CAY_TRY(const json::object* response, object_member(event, "response"));
      if (response == nullptr) return bad_answer("'response' is missing in its last event");
      return on_whole(*response);
    }
    return {};  // the API adds kinds of events, and documents that clients pass over them
  }

  Result<void> on_whole(const json::object& response) override {
    if (const json::value* error = response.if_contains("error");
        error != nullptr && !error->is_null())
      return to_error(vendor_error_of(*error));
    CAY_TRY(std::string model, text_member(response, "model"));
    builder_.set_model(std::move(model));
    CAY_TRY(const json::object* usage, object_member(response, "usage"));
    if (usage != nullptr) read_usage(*usage);
    CAY_TRY(const json::array* output, array_member(response, "output"));
    const bool has_output = !output->empty();
    if (!has_output && items_.empty() && response.if_contains("output") == nullptr)
      return bad_answer("it has no 'output'");
    for (const json::value& one : *output) {
      CAY_TRY(const json::object* item, object_element(one, "output"));
      CAY_CHECK(add_item(*item));
    }
    // A server may leave the items out of its last event.
    for (const auto& [index, item] : items_) {
      if (has_output) break;
      CAY_CHECK(add_item(item));
    }
    return read_stop(response);
  }

  bool is_whole() const override { return stop_.has_value(); }
  bool is_over() const override { return stop_.has_value(); }

  Result<ModelReply> take() override {
    ModelReply reply = builder_.take(*stop_);
    if (reported_ || !on_delta_) return reply;
    for (const Block& block : reply.message.blocks) {
      if (const auto* text = std::get_if<Text>(&block))
        on_delta_(Delta{Delta::Kind::kText, text->text});
    }
    for (const ToolCall& call : reply.message.calls) {
      on_delta_(Delta{Delta::Kind::kCallBegin, call.name});
      on_delta_(Delta{Delta::Kind::kCallArguments, call.arguments});
    }
    return reply;
  }

 private:
  Result<void> report(Delta::Kind kind, const json::object& event) {
    CAY_TRY(std::string piece, text_member(event, "delta"));
    reported_ = true;
    if (on_delta_ && !piece.empty()) on_delta_(Delta{kind, std::move(piece)});
    return {};
  }

  Result<void> on_item_begin(const json::object& event) {
    CAY_TRY(const json::object* item, object_member(event, "item"));
    if (item == nullptr) return bad_answer("'item' is missing in an event");
    CAY_TRY(const std::string type, text_member(*item, "type"));
    if (type != "function_call") return {};
    CAY_TRY(std::string name, text_member(*item, "name"));
    reported_ = true;
    if (on_delta_) on_delta_(Delta{Delta::Kind::kCallBegin, std::move(name)});
    return {};
  }

  Result<void> on_item_end(const json::object& event) {
    CAY_TRY(const json::object* item, object_member(event, "item"));
    if (item == nullptr) return bad_answer("'item' is missing in an event");
    items_[codec::number_at<std::int64_t>(event, "output_index")] = *item;
    return {};
  }

  Result<void> add_item(const json::object& item) {
    CAY_TRY(const std::string type, text_member(item, "type"));
    if (type == "message") return add_message(item);
    if (type == "reasoning") return add_reasoning(item);
    if (type != "function_call") return {};
    CAY_TRY(std::string id, text_member(item, "call_id"));
    CAY_TRY(std::string name, text_member(item, "name"));
    CAY_TRY(const std::string arguments, arguments_member(item, "arguments"));
    CAY_TRY(const std::size_t place, builder_.begin_call(std::move(id), std::move(name)));
    builder_.add_arguments(place, arguments);
    return {};
  }

  Result<void> add_message(const json::object& item) {
    CAY_TRY(const json::array* content, array_member(item, "content"));
    for (const json::value& one : *content) {
      CAY_TRY(const json::object* part, object_element(one, "content"));
      CAY_TRY(const std::string text, text_member(*part, "text"));
      CAY_TRY(const std::string refusal, text_member(*part, "refusal"));
      builder_.add_text(text + refusal);
      refused_ |= !refusal.empty();
    }
    return {};
  }

  Result<void> add_reasoning(const json::object& item) {
    std::string thoughts;
    for (const char* list : {"summary", "content"}) {
      CAY_TRY(const json::array* parts, array_member(item, list));
      for (const json::value& one : *parts) {
        CAY_TRY(const json::object* part, object_element(one, list));
        CAY_TRY(const std::string text, text_member(*part, "text"));
        thoughts += (thoughts.empty() ? "" : "\n\n") + text;
      }
      if (!thoughts.empty()) break;
    }
    CAY_TRY(const std::string encrypted, text_member(item, "encrypted_content"));
    builder_.add_thinking(thoughts, encrypted.empty() ? "" : std::string(kEncrypted) + encrypted);
    return {};
  }

  void read_usage(const json::object& in) {
    Usage& usage = builder_.usage();
    usage.input = codec::number_at<std::uint64_t>(in, "input_tokens");
    usage.output = codec::number_at<std::uint64_t>(in, "output_tokens");
    usage.cache_read = codec::number_at<std::uint64_t>(codec::object_at(in, "input_tokens_details"),
                                                       "cached_tokens");
  }

  Result<void> read_stop(const json::object& response) {
    CAY_TRY(const std::string status, text_member(response, "status"));
    CAY_TRY(const json::object* details, object_member(response, "incomplete_details"));
    if (status == "failed" || status == "cancelled")
      return Error{Code::kUnavailable, "model_overloaded", "the server ended the answer: " + status,
                   0};
    stop_ = refused_ ? StopReason::kRefused : StopReason::kEnd;
    if (status != "incomplete") return {};
    const std::string reason = details == nullptr ? "" : codec::string_at(*details, "reason");
    stop_ = reason == "content_filter" ? StopReason::kRefused : StopReason::kLength;
    return {};
  }

  OnDelta on_delta_;
  ReplyBuilder builder_;                        // reports nothing: it gets whole items
  std::map<std::int64_t, json::object> items_;  // by their place in the answer
  std::optional<StopReason> stop_;
  bool refused_ = false;
  bool reported_ = false;
};

class Responses final : public WireFormat {
 public:
  std::string target(const std::string&) const override { return "/responses"; }
  std::string models_target(const std::string&) const override { return "/models"; }

  void add_headers(http::Headers& headers, const std::string& key) const override {
    if (!key.empty()) headers.add("Authorization", "Bearer " + key);
  }

  json::object request(const ModelRequest& request, const RequestOptions& options) const override {
    json::object out{{"model", codec::text(options.model)}, {"stream", true}, {"store", false}};
    if (options.encrypted_thinking) out["include"] = json::array{"reasoning.encrypted_content"};
    if (options.temperature) out["temperature"] = *options.temperature;
    if (options.max_tokens) out["max_output_tokens"] = *options.max_tokens;
    out["input"] = input_of(request, options);
    json::array tools;
    for (const ToolSpec& tool : request.tools) {
      tools.emplace_back(json::object{{"type", "function"},
                                      {"name", codec::text(tool.name)},
                                      {"description", codec::text(tool.description)},
                                      {"parameters", tool.parameters},
                                      {"strict", false}});
    }
    if (!tools.empty()) out["tools"] = std::move(tools);
    if (!request.response_schema.empty()) {
      json::object format{{"type", "json_schema"},
                          {"name", "answer"},
                          {"schema", request.response_schema},
                          {"strict", is_strict(request.response_schema)}};
      json::object text;
      text["format"] = std::move(format);
      out["text"] = std::move(text);
    }
    return out;
  }

  std::unique_ptr<AnswerReader> reader(OnDelta on_delta) const override {
    return std::make_unique<ResponsesReader>(std::move(on_delta));
  }

  bool adapt(RequestOptions& options, const VendorError& refusal) const override {
    if (!options.encrypted_thinking) return false;
    options.encrypted_thinking = !refusal.names("include") && !refusal.names("ncrypted content");
    return !options.encrypted_thinking;
  }
};

}  // namespace

std::unique_ptr<WireFormat> responses_format() { return std::make_unique<Responses>(); }

}  // namespace cay::agent
