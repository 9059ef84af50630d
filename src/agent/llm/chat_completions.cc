// OpenAI's Chat Completions, as OpenAI and the many servers that copied it speak it.
#include <map>
#include <optional>
#include <utility>

#include "agent/llm/content.h"
#include "agent/llm/reply_builder.h"
#include "agent/llm/strict_json.h"
#include "agent/llm/wire_format.h"
#include "codec/base64.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

// Marks thoughts that came by this member: servers that write it want it back during a turn.
constexpr std::string_view kReasoning = "chat:reasoning_content";

json::object text_part(std::string_view text) {
  return {{"type", "text"}, {"text", codec::text(text)}};
}

json::object media_part(const Media& media, const RequestOptions& options) {
  if (!options.sees_images) return text_part(unseen(media));
  if (is_image(media))
    return {{"type", "image_url"},
            {"image_url", json::object{{"url", codec::text(data_url(media))}}}};
  if (is_pdf(media))
    return {{"type", "file"},
            {"file", {{"filename", "document.pdf"}, {"file_data", data_url(media)}}}};
  if (media.mime == "audio/wav" || media.mime == "audio/mpeg") {
    return {{"type", "input_audio"},
            {"input_audio",
             {{"data", codec::base64(media.bytes)},
              {"format", media.mime == "audio/wav" ? "wav" : "mp3"}}}};
  }
  return text_part(unseen(media));
}

// Text alone is a string, which every server takes.
json::value content_of(const Message& message, const RequestOptions& options) {
  if (is_text_only(message)) return codec::text(message.text());
  json::array parts;
  for (const Block& block : message.blocks) {
    if (const auto* text = std::get_if<Text>(&block)) parts.emplace_back(text_part(text->text));
    if (const auto* media = std::get_if<Media>(&block))
      parts.emplace_back(media_part(*media, options));
  }
  return parts;
}

json::object assistant_json(const Message& message, bool in_this_turn) {
  json::object out{{"role", "assistant"}};
  const std::string text = message.text();
  out["content"] = text.empty() && !message.calls.empty() ? json::value() : codec::text(text);
  std::string thoughts;
  for (const Block& block : message.blocks) {
    const auto* thinking = std::get_if<Thinking>(&block);
    if (thinking != nullptr && thinking->signature == kReasoning) thoughts += thinking->text;
  }
  if (in_this_turn && !thoughts.empty()) out["reasoning_content"] = codec::text(thoughts);
  json::array calls;
  for (const ToolCall& call : message.calls) {
    calls.emplace_back(
        json::object{{"id", codec::text(call.id)},
                     {"type", "function"},
                     {"function",
                      {{"name", codec::text(call.name)},
                       {"arguments", codec::text(arguments_text(call.arguments))}}}});
  }
  if (!calls.empty()) out["tool_calls"] = std::move(calls);
  return out;
}

json::array chat_messages(const ModelRequest& request, const RequestOptions& options) {
  json::array out;
  json::array seen;  // media of results: a message of the role "tool" carries text alone
  const auto flush = [&] {
    if (seen.empty()) return;
    out.emplace_back(json::object{{"role", "user"}, {"content", std::exchange(seen, {})}});
  };
  std::size_t turn = 0;  // the place of the last user message
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    if (request.messages[i].role == Role::kUser) turn = i;
  }
  for (std::size_t i = 0; i < request.messages.size(); ++i) {
    const Message& message = request.messages[i];
    if (message.role != Role::kTool) flush();
    if (message.role == Role::kAssistant) {
      const bool is_empty = message.text().empty() && message.calls.empty();  // servers refuse it
      if (!is_empty) out.emplace_back(assistant_json(message, i > turn));
    } else if (message.role == Role::kTool) {
      out.emplace_back(json::object{{"role", "tool"},
                                    {"tool_call_id", codec::text(message.call_id)},
                                    {"content", codec::text(message.text())}});
      for (const Block& block : message.blocks) {
        const auto* media = std::get_if<Media>(&block);
        if (media == nullptr) continue;
        seen.emplace_back(text_part("Result of " + message.tool + " (" + message.call_id + "):"));
        seen.emplace_back(media_part(*media, options));
      }
    } else {
      out.emplace_back(json::object{{"role", message.role == Role::kSystem ? "system" : "user"},
                                    {"content", content_of(message, options)}});
    }
  }
  flush();
  return out;
}

StopReason chat_stop(std::string_view reason) {
  if (reason == "length") return StopReason::kLength;
  if (reason == "content_filter") return StopReason::kRefused;
  if (reason == "tool_calls") return StopReason::kToolCalls;
  return StopReason::kEnd;
}

class ChatReader final : public AnswerReader {
 public:
  explicit ChatReader(OnDelta on_delta) : builder_(std::move(on_delta)) {}

  Result<void> on_event(const json::object& event) override {
    CAY_CHECK(read_top(event));
    CAY_TRY(const json::array* choices, array_member(event, "choices"));
    if (choices->empty()) return {};
    CAY_TRY(const json::object* choice, object_element(choices->front(), "choices"));
    CAY_TRY(const json::object* delta, object_member(*choice, "delta"));
    // A server that ignores "stream" inside an event stream writes a message.
    if (delta == nullptr) {
      CAY_TRY(delta, object_member(*choice, "message"));
    }
    return read_choice(*choice, delta);
  }

  Result<void> on_whole(const json::object& answer) override {
    CAY_CHECK(read_top(answer));
    CAY_TRY(const json::array* choices, array_member(answer, "choices"));
    if (choices->empty()) return bad_answer("it has no 'choices'");
    CAY_TRY(const json::object* choice, object_element(choices->front(), "choices"));
    CAY_TRY(const json::object* message, object_member(*choice, "message"));
    if (message == nullptr) return bad_answer("its choice has no 'message'");
    CAY_CHECK(read_choice(*choice, message));
    if (!stop_) stop_ = StopReason::kEnd;
    return {};
  }

  bool is_whole() const override { return stop_.has_value(); }
  bool is_over() const override { return false; }  // usage comes after the message
  Result<ModelReply> take() override {
    ModelReply reply = builder_.take(*stop_);
    for (Block& block : reply.message.blocks) {
      auto* thinking = std::get_if<Thinking>(&block);
      if (thinking != nullptr && wants_thoughts_) thinking->signature = kReasoning;
    }
    return reply;
  }

 private:
  Result<void> read_top(const json::object& in) {
    if (const json::value* error = in.if_contains("error"); error != nullptr && !error->is_null())
      return to_error(vendor_error_of(*error));
    CAY_TRY(std::string model, text_member(in, "model"));
    if (!model.empty()) builder_.set_model(std::move(model));
    CAY_TRY(const json::object* usage, object_member(in, "usage"));
    if (usage != nullptr) read_usage(*usage);
    return {};
  }

  void read_usage(const json::object& in) {
    Usage& usage = builder_.usage();
    usage.input = codec::number_at<std::uint64_t>(in, "prompt_tokens");
    usage.output = codec::number_at<std::uint64_t>(in, "completion_tokens");
    const json::object& details = codec::object_at(in, "prompt_tokens_details");
    usage.cache_read = codec::number_at<std::uint64_t>(details, "cached_tokens");
    // DeepSeek's member for the same.
    if (usage.cache_read == 0)
      usage.cache_read = codec::number_at<std::uint64_t>(in, "prompt_cache_hit_tokens");
  }

  Result<void> read_choice(const json::object& choice, const json::object* delta) {
    if (delta != nullptr) {
      CAY_CHECK(read_delta(*delta));
    }
    CAY_TRY(const std::string reason, text_member(choice, "finish_reason"));
    if (!reason.empty()) stop_ = refused_ ? StopReason::kRefused : chat_stop(reason);
    return {};
  }

  Result<void> read_delta(const json::object& delta) {
    CAY_TRY(const std::string thought, text_member(delta, "reasoning_content"));
    wants_thoughts_ |= !thought.empty();
    builder_.add_thinking(thought);
    if (thought.empty()) {
      CAY_TRY(const std::string other, text_member(delta, "reasoning"));
      builder_.add_thinking(other);
    }
    CAY_CHECK(read_content(delta));
    CAY_TRY(const std::string refusal, text_member(delta, "refusal"));
    refused_ |= !refusal.empty();
    builder_.add_text(refusal);
    CAY_TRY(const json::array* calls, array_member(delta, "tool_calls"));
    for (const json::value& one : *calls) {
      CAY_TRY(const json::object* call, object_element(one, "tool_calls"));
      CAY_CHECK(read_call(*call));
    }
    return {};
  }

  // A text, or a list of parts with text in them.
  Result<void> read_content(const json::object& delta) {
    const json::value* content = delta.if_contains("content");
    if (content == nullptr || !content->is_array()) {
      CAY_TRY(const std::string text, text_member(delta, "content"));
      builder_.add_text(text);
      return {};
    }
    for (const json::value& one : content->get_array()) {
      CAY_TRY(const json::object* part, object_element(one, "content"));
      CAY_TRY(const std::string type, text_member(*part, "type"));
      if (type != "text") continue;
      CAY_TRY(const std::string text, text_member(*part, "text"));
      builder_.add_text(text);
    }
    return {};
  }

  Result<void> read_call(const json::object& in) {
    CAY_TRY(std::string id, text_member(in, "id"));
    CAY_TRY(const json::object* function, object_member(in, "function"));
    static const json::object kNone;
    if (function == nullptr) function = &kNone;
    CAY_TRY(std::string name, text_member(*function, "name"));
    CAY_TRY(const std::string arguments, arguments_member(*function, "arguments"));
    CAY_TRY(const std::size_t place, place_of(in, id, name));
    builder_.set_id(place, std::move(id));
    builder_.set_name(place, std::move(name));
    builder_.add_arguments(place, arguments);
    return {};
  }

  // Pieces of a call have its index. Some servers write no index, or one index for all calls: there
  // a new id together with a name begins a new call.
  Result<std::size_t> place_of(const json::object& in, const std::string& id,
                               const std::string& name) {
    const json::value* index = in.if_contains("index");
    const bool has_index = index != nullptr && index->is_number();
    const auto key = has_index ? codec::number_at<std::int64_t>(in, "index") : last_key_;
    const auto found = places_.find(key);
    const bool begins_other = found != places_.end() && !id.empty() && !name.empty() &&
                              !found->second.id.empty() && found->second.id != id;
    // A whole message has no indexes, and a server may leave out ids as well.
    const bool begins_unnamed = !has_index && id.empty() && !name.empty();
    last_key_ = key;
    if (found != places_.end() && !begins_other && !begins_unnamed) {
      if (found->second.id.empty()) found->second.id = id;
      return found->second.at;
    }
    CAY_TRY(const std::size_t at, builder_.begin_call(id, name));
    places_[key] = {at, id};
    return at;
  }

  struct Place {
    std::size_t at = 0;
    std::string id{};
  };
  ReplyBuilder builder_;
  std::map<std::int64_t, Place> places_;  // by index
  std::int64_t last_key_ = 0;
  std::optional<StopReason> stop_;
  bool wants_thoughts_ = false;
  bool refused_ = false;
};

class ChatCompletions final : public WireFormat {
 public:
  std::string target(const std::string&) const override { return "/chat/completions"; }
  std::string models_target(const std::string&) const override { return "/models"; }

  void add_headers(http::Headers& headers, const std::string& key) const override {
    if (!key.empty()) headers.add("Authorization", "Bearer " + key);
  }

  json::object request(const ModelRequest& request, const RequestOptions& options) const override {
    json::object out{{"model", codec::text(options.model)}, {"stream", true}};
    if (options.stream_usage) out["stream_options"] = json::object{{"include_usage", true}};
    if (options.temperature) out["temperature"] = *options.temperature;
    if (options.max_tokens)
      out[options.completion_tokens ? "max_completion_tokens" : "max_tokens"] = *options.max_tokens;
    out["messages"] = chat_messages(request, options);
    json::array tools;
    for (const ToolSpec& tool : request.tools) {
      tools.emplace_back(json::object{{"type", "function"},
                                      {"function",
                                       {{"name", codec::text(tool.name)},
                                        {"description", codec::text(tool.description)},
                                        {"parameters", tool.parameters}}}});
    }
    if (!tools.empty()) out["tools"] = std::move(tools);
    if (!request.response_schema.empty()) {
      out["response_format"] = json::object{{"type", "json_schema"},
                                            {"json_schema",
                                             {{"name", "answer"},
                                              {"schema", request.response_schema},
                                              {"strict", is_strict(request.response_schema)}}}};
    }
    return out;
  }

  std::unique_ptr<AnswerReader> reader(OnDelta on_delta) const override {
    return std::make_unique<ChatReader>(std::move(on_delta));
  }

  bool adapt(RequestOptions& options, const VendorError& refusal) const override {
    if (options.stream_usage && refusal.names("stream_options")) {
      options.stream_usage = false;
      return true;
    }
    if (options.max_tokens && !options.completion_tokens &&
        refusal.names("max_completion_tokens")) {
      options.completion_tokens = true;
      return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<WireFormat> chat_completions_format() {
  return std::make_unique<ChatCompletions>();
}

}  // namespace cay::agent
