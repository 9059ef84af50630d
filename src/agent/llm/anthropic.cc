// Anthropic's Messages API.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "agent/llm/content.h"
#include "agent/llm/reply_builder.h"
#include "agent/llm/strict_json.h"
#include "agent/llm/wire_format.h"
#include "base/ascii.h"
#include "codec/base64.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

constexpr std::string_view kVersion = "2023-06-01";
// Mark signatures as Anthropic's. Another vendor's would be refused.
constexpr std::string_view kSigned = "anthropic:";
constexpr std::string_view kRedacted = "anthropic-redacted:";

// The API needs a limit of the answer, and refuses one above the model's own.
constexpr std::uint64_t kAnswerTokens = 32'000;
constexpr std::uint64_t kLessTokens = 8'192;
constexpr std::uint64_t kLeastTokens = 4'096;

json::object text_block(std::string_view text) {
  return {{"type", "text"}, {"text", codec::text(text)}};
}

json::object media_block(const Media& media, const RequestOptions& options) {
  if (!options.sees_images || (!is_image(media) && !is_pdf(media)))
    return text_block(unseen(media));
  return {{"type", is_image(media) ? "image" : "document"},
          {"source",
           {{"type", "base64"},
            {"media_type", codec::text(media.mime)},
            {"data", codec::base64(media.bytes)}}}};
}

// The API refuses empty texts.
json::array blocks_of(const Message& message, const RequestOptions& options) {
  json::array out;
  for (const Block& block : message.blocks) {
    if (const auto* text = std::get_if<Text>(&block); text != nullptr && !text->text.empty())
      out.emplace_back(text_block(text->text));
    if (const auto* media = std::get_if<Media>(&block))
      out.emplace_back(media_block(*media, options));
  }
  return out;
}

// Ids of calls that another vendor made may have characters that this API refuses.
json::string id_of(std::string_view id) {
  std::string out(id);
  for (char& c : out) {
    if (!is_letter(c) && !is_digit(c) && c != '_' && c != '-') c = '_';
  }
  return codec::text(out.empty() ? "none" : out);
}

json::array assistant_blocks(const Message& message) {
  json::array out;
  for (const Block& block : message.blocks) {
    if (const auto* text = std::get_if<Text>(&block); text != nullptr && !text->text.empty())
      out.emplace_back(text_block(text->text));
    const auto* thinking = std::get_if<Thinking>(&block);
    if (thinking == nullptr) continue;
    const std::string_view signature = thinking->signature;
    if (signature.starts_with(kSigned)) {
      out.emplace_back(json::object{{"type", "thinking"},
                                    {"thinking", codec::text(thinking->text)},
                                    {"signature", codec::text(signature.substr(kSigned.size()))}});
    } else if (signature.starts_with(kRedacted)) {
      out.emplace_back(json::object{{"type", "redacted_thinking"},
                                    {"data", codec::text(signature.substr(kRedacted.size()))}});
    }
  }
  for (const ToolCall& call : message.calls) {
    out.emplace_back(json::object{{"type", "tool_use"},
                                  {"id", id_of(call.id)},
                                  {"name", codec::text(call.name)},
                                  {"input", arguments_object(call.arguments)}});
  }
  return out;
}

json::object result_block(const Message& message, const RequestOptions& options) {
  json::object out{{"type", "tool_result"}, {"tool_use_id", id_of(message.call_id)}};
  json::array content = blocks_of(message, options);
  if (!content.empty()) out["content"] = std::move(content);
  if (message.failed) out["is_error"] = true;
  return out;
}

// Messages of one role in a row become one: the results of parallel calls have to be together.
json::array anthropic_messages(const ModelRequest& request, const RequestOptions& options) {
  json::array out;
  for (const Message& message : request.messages) {
    if (message.role == Role::kSystem) continue;
    json::array content;
    if (message.role == Role::kAssistant) {
      content = assistant_blocks(message);
    } else if (message.role == Role::kTool) {
      content.emplace_back(result_block(message, options));
    } else {
      content = blocks_of(message, options);
    }
    if (content.empty()) continue;
    const char* role = message.role == Role::kAssistant ? "assistant" : "user";
    if (!out.empty() && out.back().at("role").get_string() == role) {
      json::array& before = out.back().at("content").get_array();
      before.insert(before.end(), content.begin(), content.end());
    } else {
      out.emplace_back(json::object{{"role", role}, {"content", std::move(content)}});
    }
  }
  return out;
}

// A mark lets the vendor keep everything up to it for the next request.
void mark(json::value& block) {
  json::object& in = block.get_object();
  const std::string type = codec::string_at(in, "type");
  if (type != "thinking" && type != "redacted_thinking")
    in["cache_control"] = json::object{{"type", "ephemeral"}};
}

StopReason anthropic_stop(std::string_view reason) {
  if (reason == "tool_use") return StopReason::kToolCalls;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded")
    return StopReason::kLength;
  if (reason == "refusal") return StopReason::kRefused;
  return StopReason::kEnd;
}

class AnthropicReader final : public AnswerReader {
 public:
  explicit AnthropicReader(OnDelta on_delta) : builder_(std::move(on_delta)) {}

  Result<void> on_event(const json::object& event) override {
    CAY_TRY(const std::string type, text_member(event, "type"));
    if (type == "error") return on_error(event);
    if (type == "message_start") {
      CAY_TRY(const json::object* message, object_member(event, "message"));
      if (message == nullptr) return bad_answer("'message' is missing in an event");
      return read_head(*message);
    }
    if (type == "content_block_start") return on_block_begin(event);
    if (type == "content_block_delta") return on_block_delta(event);
    if (type == "message_delta") {
      CAY_TRY(const json::object* delta, object_member(event, "delta"));
      CAY_TRY(const json::object* usage, object_member(event, "usage"));
      if (usage != nullptr) read_usage(*usage);
      return delta == nullptr ? Result<void>() : read_stop(*delta);
    }
    over_ |= type == "message_stop";
    return {};  // the API adds kinds of events, and documents that clients pass over them
  }

  Result<void> on_whole(const json::object& answer) override {
    if (answer.if_contains("error") != nullptr) return on_error(answer);
    CAY_CHECK(read_head(answer));
    if (answer.if_contains("content") == nullptr) return bad_answer("it has no 'content'");
    CAY_TRY(const json::array* content, array_member(answer, "content"));
    for (const json::value& one : *content) {
      CAY_TRY(const json::object* block, object_element(one, "content"));
      CAY_TRY(const auto ignored, begin_block(*block));
      static_cast<void>(ignored);
    }
    if (!stop_) stop_ = StopReason::kEnd;
    return {};
  }

  bool is_whole() const override { return stop_.has_value(); }
  bool is_over() const override { return over_ && stop_.has_value(); }
  Result<ModelReply> take() override { return builder_.take(*stop_); }

 private:
  static Result<void> on_error(const json::object& event) {
    const json::value* error = event.if_contains("error");
    return to_error(error == nullptr ? VendorError{} : vendor_error_of(*error));
  }

  Result<void> read_head(const json::object& message) {
    CAY_TRY(std::string model, text_member(message, "model"));
    builder_.set_model(std::move(model));
    CAY_TRY(const json::object* usage, object_member(message, "usage"));
    if (usage != nullptr) read_usage(*usage);
    return read_stop(message);
  }

  Result<void> read_stop(const json::object& in) {
    CAY_TRY(const std::string reason, text_member(in, "stop_reason"));
    if (!reason.empty()) stop_ = anthropic_stop(reason);
    return {};
  }

  // The counts are those since the answer's begin, and an event has only some of them.
  void read_usage(const json::object& in) {
    const auto take = [&in](std::string_view name, std::uint64_t& into) {
      const json::value* found = in.if_contains(name);
      if (found != nullptr && found->is_number()) into = codec::number_at<std::uint64_t>(in, name);
    };
    Usage& usage = builder_.usage();
    take("input_tokens", uncached_);
    take("output_tokens", usage.output);
    take("cache_read_input_tokens", usage.cache_read);
    take("cache_creation_input_tokens", usage.cache_write);
    usage.input = uncached_ + usage.cache_read + usage.cache_write;
  }

  Result<void> on_block_begin(const json::object& event) {
    CAY_TRY(const json::object* block, object_member(event, "content_block"));
    if (block == nullptr) return bad_answer("'content_block' is missing in an event");
    CAY_TRY(const auto call, begin_block(*block));
    if (call) calls_[codec::number_at<std::int64_t>(event, "index")] = *call;
    return {};
  }

  // Returns the place of a call.
  Result<std::optional<std::size_t>> begin_block(const json::object& block) {
    CAY_TRY(const std::string type, text_member(block, "type"));
    if (type == "tool_use") {
      CAY_TRY(std::string id, text_member(block, "id"));
      CAY_TRY(std::string name, text_member(block, "name"));
      CAY_TRY(const std::string input, arguments_member(block, "input"));
      CAY_TRY(const std::size_t place, builder_.begin_call(std::move(id), std::move(name)));
      if (input != "{}") builder_.add_arguments(place, input);  // a streamed call begins empty
      return std::optional(place);
    }
    CAY_CHECK(read_piece(block));
    return std::optional<std::size_t>();
  }

  Result<void> on_block_delta(const json::object& event) {
    CAY_TRY(const json::object* delta, object_member(event, "delta"));
    if (delta == nullptr) return bad_answer("'delta' is missing in an event");
    CAY_TRY(const std::string arguments, text_member(*delta, "partial_json"));
    if (!arguments.empty()) {
      const auto call = calls_.find(codec::number_at<std::int64_t>(event, "index"));
      if (call == calls_.end()) return bad_answer("arguments belong to no call");
      builder_.add_arguments(call->second, arguments);
    }
    return read_piece(*delta);
  }

  // The members of a block and of a delta have the same names.
  Result<void> read_piece(const json::object& in) {
    CAY_TRY(const std::string text, text_member(in, "text"));
    builder_.add_text(text);
    CAY_TRY(const std::string thinking, text_member(in, "thinking"));
    CAY_TRY(const std::string signature, text_member(in, "signature"));
    builder_.add_thinking(thinking, signature.empty() ? "" : std::string(kSigned) + signature);
    CAY_TRY(const std::string redacted, text_member(in, "data"));
    if (redacted.empty()) return {};
    builder_.end_thinking();
    builder_.add_thinking("", std::string(kRedacted) + redacted);
    return {};
  }

  ReplyBuilder builder_;
  std::map<std::int64_t, std::size_t> calls_;  // places, by the index of a block
  std::uint64_t uncached_ = 0;                 // tokens of the input
  std::optional<StopReason> stop_;
  bool over_ = false;
};

class Anthropic final : public WireFormat {
 public:
  std::string target(const std::string& base_url) const override {
    return prefix(base_url) + "/messages";
  }
  std::string models_target(const std::string& base_url) const override {
    return prefix(base_url) + "/models";
  }

  void add_headers(http::Headers& headers, const std::string& key) const override {
    headers.add("anthropic-version", std::string(kVersion));
    if (!key.empty()) headers.add("x-api-key", key);
  }

  json::object request(const ModelRequest& request, const RequestOptions& options) const override {
    json::object out{{"model", codec::text(options.model)}, {"stream", true}};
    const std::uint64_t most = options.answer_tokens == 0 ? kAnswerTokens : options.answer_tokens;
    out["max_tokens"] = options.max_tokens.value_or(most);
    if (options.temperature) out["temperature"] = *options.temperature;
    json::array system;
    for (const Message& message : request.messages) {
      const std::string text = message.role == Role::kSystem ? message.text() : "";
      if (!text.empty()) system.emplace_back(text_block(text));
    }
    json::array tools;
    for (const ToolSpec& tool : request.tools) {
      tools.emplace_back(json::object{{"name", codec::text(tool.name)},
                                      {"description", codec::text(tool.description)},
                                      {"input_schema", tool.parameters}});
    }
    json::array messages = anthropic_messages(request, options);
    if (options.cache_marks) {
      if (!system.empty()) mark(system.back());
      if (!tools.empty()) mark(tools.back());
      if (!messages.empty()) mark(messages.back().at("content").get_array().back());
    }
    if (!system.empty()) out["system"] = std::move(system);
    if (!tools.empty()) out["tools"] = std::move(tools);
    out["messages"] = std::move(messages);
    if (!request.response_schema.empty()) {
      json::object config;
      config["format"] = json::object{{"type", "json_schema"}, {"schema", request.response_schema}};
      out["output_config"] = std::move(config);
    }
    return out;
  }

  std::unique_ptr<AnswerReader> reader(OnDelta on_delta) const override {
    return std::make_unique<AnthropicReader>(std::move(on_delta));
  }

  bool adapt(RequestOptions& options, const VendorError& refusal) const override {
    if (!options.max_tokens && options.answer_tokens != kLeastTokens &&
        refusal.names("max_tokens")) {
      options.answer_tokens = options.answer_tokens == 0 ? kLessTokens : kLeastTokens;
      return true;
    }
    const bool was =
        std::exchange(options.cache_marks, options.cache_marks && !refusal.names("cache_control"));
    return was && !options.cache_marks;
  }

 private:
  // ANTHROPIC_BASE_URL has no version by custom. One that has it is taken as well.
  static std::string prefix(const std::string& base_url) {
    return base_url.ends_with("/v1") ? "" : "/v1";
  }
};

}  // namespace

std::unique_ptr<WireFormat> anthropic_format() { return std::make_unique<Anthropic>(); }

}  // namespace cay::agent
