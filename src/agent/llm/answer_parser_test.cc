// The three wire formats: answers, however they are cut, and requests.
#include "agent/llm/answer_parser.h"

#include <gtest/gtest.h>

#include "agent/llm/testing/samples.h"
#include "codec/lenient.h"

namespace cay::agent {
namespace {

using testing::expected_message;
using testing::format_of;
using testing::Sample;
using testing::samples;

struct Parsed {
  Result<ModelReply> reply;
  std::string deltas;  // of each its kind and its text
};

Parsed parse(const Sample& sample, std::string_view first, std::string_view rest) {
  Parsed out;
  OnDelta on_delta = [&out](const Delta& delta) {
    out.deltas += std::to_string(static_cast<int>(delta.kind)) + delta.text + "|";
  };
  AnswerParser parser(format_of(sample.vendor)->reader(std::move(on_delta)));
  for (const auto piece : {first, rest}) {
    auto fed = parser.feed(piece);
    if (fed) continue;
    out.reply = std::move(fed).error();
    return out;
  }
  out.reply = parser.finish();
  return out;
}

std::string reason_of(const Result<ModelReply>& reply) {
  return reply ? "none" : reply.error().reason;
}

TEST(AnswerParserTest, AnAnswerIsTheSameHoweverItIsCut) {
  for (const Sample& sample : samples()) {
    for (const std::string& body : {sample.streamed, sample.whole}) {
      for (std::size_t cut = 0; cut <= body.size(); ++cut) {
        const std::string_view all = body;
        auto got = parse(sample, all.substr(0, cut), all.substr(cut));
        ASSERT_TRUE(got.reply) << got.reply.error().message << " at " << cut;
        ASSERT_EQ(to_json(got.reply->message), to_json(expected_message(sample))) << cut;
        ASSERT_EQ(got.reply->usage, sample.usage);
        ASSERT_EQ(got.reply->stop, StopReason::kToolCalls);
        ASSERT_EQ(got.reply->model, "m-1");
      }
    }
  }
}

TEST(AnswerParserTest, AnAnswerThatBreaksOffIsNeverTakenForAWholeOne) {
  for (const Sample& sample : samples()) {
    for (std::size_t end = 0; end < sample.streamed.size(); ++end) {
      auto got = parse(sample, std::string_view(sample.streamed).substr(0, end), "");
      if (got.reply) {
        ASSERT_EQ(got.reply->message, expected_message(sample)) << end;
      } else {
        ASSERT_EQ(got.reply.error().reason, "model_cut") << end;
      }
    }
  }
}

TEST(AnswerParserTest, PiecesAreReportedInTheirOrder) {
  const std::string calls = R"(2execute|3{"command":"python3 hello.py"}|2ls|)";
  for (const Sample& sample : samples()) {
    auto whole = parse(sample, sample.whole, "");
    ASSERT_TRUE(whole.reply);
    EXPECT_NE(whole.deltas.find("0I run it: é.|" + calls), std::string::npos) << whole.deltas;
    auto streamed = parse(sample, sample.streamed, "");
    EXPECT_EQ(streamed.deltas.find("1Let me "), 0u) << streamed.deltas;
    EXPECT_NE(streamed.deltas.find("0I run |0it: é.|2execute|"), std::string::npos);
  }
}

TEST(AnswerParserTest, CallsWithoutIndexesAndIdsStayApart) {
  const Sample sample = testing::chat_sample();
  const std::string call = R"({"function":{"name":"ls","arguments":"{}"}})";
  auto got = parse(sample,
                   R"({"choices":[{"message":{"tool_calls":[)" + call + "," + call +
                       R"(]},"finish_reason":"stop"}]})",
                   "");
  ASSERT_TRUE(got.reply);
  ASSERT_EQ(got.reply->message.calls.size(), 2u);
  EXPECT_NE(got.reply->message.calls[0].id, got.reply->message.calls[1].id);
  EXPECT_EQ(got.reply->stop, StopReason::kToolCalls);

  const std::string piece =
      R"(data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"ID","function":)"
      R"({"name":"ls","arguments":{"path":"/"}}}]},"finish_reason":"tool_calls"}]})";
  auto both = parse(sample, piece + "\n\n", std::string(piece).replace(piece.find("ID"), 2, "B"));
  ASSERT_TRUE(both.reply);
  ASSERT_EQ(both.reply->message.calls.size(), 2u);
  EXPECT_EQ(both.reply->message.calls[1], (ToolCall{"B", "ls", R"({"path":"/"})"}));
}

TEST(AnswerParserTest, MalformedAnswersAreNamed) {
  const Sample chat = testing::chat_sample();
  for (const char* body :
       {"<html>", "[1]", "{", "{}", R"({"choices":[]})", R"({"choices":{}})", R"({"choices":[1]})",
        R"({"choices":[{}]})", R"({"choices":[{"message":{"content":1}}]})",
        R"({"choices":[{"message":{"tool_calls":[1]}}]})", "data: nonsense\n\n", "data: 1\n\n",
        "data: [DONE]\n\n", R"({"choices":[{"message":{"content":"x"},"finish_reason":7}]})"}) {
    EXPECT_EQ(reason_of(parse(chat, body, "").reply), "model_bad_answer") << body;
  }
  for (const char* body : {"{}", R"({"content":7})", R"({"content":[{"type":"text","text":1}]})"})
    EXPECT_EQ(reason_of(parse(testing::anthropic_sample(), body, "").reply), "model_bad_answer");
  for (const char* body : {"{}", R"({"output":7})", R"({"output":[7]})"})
    EXPECT_EQ(reason_of(parse(testing::responses_sample(), body, "").reply), "model_bad_answer");
  EXPECT_EQ(reason_of(parse(chat, "", "").reply), "model_cut");
}

TEST(AnswerParserTest, AnAnswerHasABound) {
  AnswerParser parser(chat_completions_format()->reader({}), 100);
  EXPECT_TRUE(parser.feed(std::string(100, ' ')));
  auto fed = parser.feed(" ");
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().reason, "model_bad_answer");
}

TEST(AnswerParserTest, ErrorsInsideAnAnswerHaveTheirReason) {
  const auto reason = [](const Sample& sample, const std::string& body) {
    return reason_of(parse(sample, body, "").reply);
  };
  EXPECT_EQ(reason(testing::anthropic_sample(),
                   "event: error\ndata: {\"type\":\"error\",\"error\":"
                   "{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"),
            "model_overloaded");
  EXPECT_EQ(reason(testing::responses_sample(),
                   "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\","
                   "\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Too long\"}}}\n"),
            "context_overflow");
  EXPECT_EQ(reason(testing::responses_sample(),
                   "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\"}\n\n"),
            "model_rate_limited");
  EXPECT_EQ(
      reason(testing::chat_sample(), "data: {\"error\":{\"code\":502,\"message\":\"x\"}}\n\n"),
      "model_overloaded");
}

TEST(AnswerParserTest, StopsAreToldApart) {
  const auto chat = [](const std::string& reason) {
    return parse(testing::chat_sample(),
                 R"({"choices":[{"message":{"content":"x"},"finish_reason":")" + reason + "\"}]}",
                 "")
        .reply->stop;
  };
  EXPECT_EQ(chat("stop"), StopReason::kEnd);
  EXPECT_EQ(chat("length"), StopReason::kLength);
  EXPECT_EQ(chat("content_filter"), StopReason::kRefused);
  const auto anthropic = [](const std::string& reason) {
    return parse(testing::anthropic_sample(), R"({"content":[],"stop_reason":")" + reason + "\"}",
                 "")
        .reply->stop;
  };
  EXPECT_EQ(anthropic("end_turn"), StopReason::kEnd);
  EXPECT_EQ(anthropic("max_tokens"), StopReason::kLength);
  EXPECT_EQ(anthropic("refusal"), StopReason::kRefused);
  EXPECT_EQ(parse(testing::responses_sample(),
                  R"({"status":"incomplete","output":[],)"
                  R"("incomplete_details":{"reason":"max_output_tokens"}})",
                  "")
                .reply->stop,
            StopReason::kLength);
}

// A turn with every kind of message.
ModelRequest conversation(const Sample& sample) {
  ModelRequest out;
  out.messages = {Message::of(Role::kSystem, "Be brief."), Message::of(Role::kUser, "Go."),
                  expected_message(sample)};
  out.messages.back().calls[1].arguments = "{\"path\":";  // cut
  Message result = Message::of(Role::kTool, "hello\xff");
  result.call_id = "c1";
  result.tool = "execute";
  out.messages.push_back(result);
  result.blocks = {Text{"a picture"}, Media{"image/png", "PNG"}};
  result.call_id = "c2";
  result.tool = "ls";
  result.failed = true;
  out.messages.push_back(result);
  ToolSpec tool{"ls", "Lists files.", {}};
  tool.parameters["type"] = "object";
  out.tools.push_back(std::move(tool));
  out.response_schema = *codec::parse_object(
      R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],)"
      R"("additionalProperties":false})");
  return out;
}

std::string request_of(const Sample& sample, RequestOptions options) {
  return codec::write(format_of(sample.vendor)->request(conversation(sample), options));
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts) {
    const auto found = text.find(part, at);
    EXPECT_NE(found, std::string::npos) << part << "\nis not there, or not in its order, in\n"
                                        << text;
    if (found != std::string::npos) at = found;
  }
}

TEST(WireFormatTest, ChatCompletionsHasTheWholeConversation) {
  const RequestOptions options{.model = "m", .temperature = 0.5, .max_tokens = 9};
  expect_parts(
      request_of(testing::chat_sample(), options),
      {R"({"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":5E-1,)",
       R"("max_tokens":9,)", R"({"role":"system","content":"Be brief."})",
       R"({"role":"user","content":"Go."})",
       R"({"role":"assistant","content":"I run it: é.","reasoning_content":"Let me see.",)",
       R"({"id":"c1","type":"function","function":{"name":"execute","arguments":)",
       R"("arguments":"{\"malformed\":\"{\\\"path\\\":\"}")",
       R"({"role":"tool","tool_call_id":"c1","content":"hello�"})",
       R"({"role":"tool","tool_call_id":"c2","content":"a picture"})",
       R"({"role":"user","content":[{"type":"text","text":"Result of ls (c2):"},)",
       R"({"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]})",
       R"("tools":[{"type":"function","function":{"name":"ls","description":"Lists files.",)",
       R"("response_format":{"type":"json_schema","json_schema":{"name":"answer",)",
       R"("strict":true)"});
}

TEST(WireFormatTest, ResponsesHasTheWholeConversation) {
  const RequestOptions options{.model = "m", .max_tokens = 9};
  expect_parts(
      request_of(testing::responses_sample(), options),
      {R"({"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],)",
       R"("max_output_tokens":9,)",
       R"({"type":"message","role":"system","content":[{"type":"input_text","text":"Be brief."}]})",
       R"({"type":"reasoning","summary":[{"type":"summary_text","text":"Let me see."}],)",
       R"("encrypted_content":"opaque"})",
       R"({"type":"message","role":"assistant","content":[{"type":"output_text",)",
       R"({"type":"function_call","call_id":"c1","name":"execute",)",
       R"({"type":"function_call_output","call_id":"c1","output":"hello�"})",
       R"("call_id":"c2","output":[{"type":"input_text","text":"a picture"},)",
       R"({"type":"input_image","image_url":"data:image/png;base64,UE5H"}]})",
       R"("tools":[{"type":"function","name":"ls",)",
       R"("text":{"format":{"type":"json_schema","name":"answer",)"});
}

TEST(WireFormatTest, AnthropicHasTheWholeConversation) {
  const RequestOptions options{.model = "m"};
  expect_parts(
      request_of(testing::anthropic_sample(), options),
      {R"({"model":"m","stream":true,"max_tokens":32000,)",
       R"("system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],)",
       R"("tools":[{"name":"ls","description":"Lists files.","input_schema":{"type":"object"},)",
       R"("cache_control":{"type":"ephemeral"}}],)",
       R"("messages":[{"role":"user","content":[{"type":"text","text":"Go."}]},)",
       R"({"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.",)",
       R"("signature":"sig"},{"type":"text","text":"I run it: é."},)",
       R"({"type":"tool_use","id":"c1","name":"execute","input":{"command":"python3 hello.py"}},)",
       R"("input":{"malformed":"{\"path\":"}}]},)",
       R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c1",)",
       R"({"type":"tool_result","tool_use_id":"c2","content":[{"type":"text",)",
       R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"UE5H"}}],)",
       R"("is_error":true,"cache_control":{"type":"ephemeral"}}]}])",
       R"("output_config":{"format":{"type":"json_schema","schema":)"});
}

TEST(WireFormatTest, ThoughtsGoBackToTheirVendorAlone) {
  for (const Sample& own : samples()) {
    for (const Sample& other : samples()) {
      const std::string text =
          codec::write(format_of(own.vendor)->request(conversation(other), {.model = "m"}));
      EXPECT_EQ(text.find("Let me see.") != std::string::npos, own.vendor == other.vendor);
    }
  }
}

TEST(WireFormatTest, AModelWithoutEyesGetsWords) {
  for (const Sample& sample : samples()) {
    const std::string text = request_of(sample, {.model = "m", .sees_images = false});
    EXPECT_EQ(text.find("UE5H"), std::string::npos);
    EXPECT_NE(text.find("[image/png, 3 bytes: this model cannot see it]"), std::string::npos);
  }
}

TEST(WireFormatTest, RefusedMembersAreLeftOut) {
  RequestOptions options{.model = "m", .max_tokens = 5};
  const auto chat = chat_completions_format();
  EXPECT_FALSE(chat->adapt(options, {.message = "no"}));
  EXPECT_TRUE(chat->adapt(options, {.message = "Unknown field: stream_options"}));
  EXPECT_FALSE(chat->adapt(options, {.message = "Unknown field: stream_options"}));
  EXPECT_TRUE(chat->adapt(options, {.message = "Use 'max_completion_tokens' instead."}));
  const auto chat_text = codec::write(chat->request({}, options));
  EXPECT_EQ(chat_text.find("stream_options"), std::string::npos);
  EXPECT_NE(chat_text.find("\"max_completion_tokens\":5"), std::string::npos);

  const auto responses = responses_format();
  EXPECT_TRUE(responses->adapt(options, {.message = "Encrypted content is not supported"}));
  EXPECT_EQ(codec::write(responses->request({}, options)).find("include"), std::string::npos);

  RequestOptions own{.model = "m"};
  const auto anthropic = anthropic_format();
  EXPECT_TRUE(anthropic->adapt(own, {.message = "max_tokens: 32000 > 8192"}));
  EXPECT_NE(codec::write(anthropic->request({}, own)).find("\"max_tokens\":8192"),
            std::string::npos);
  EXPECT_TRUE(anthropic->adapt(own, {.message = "max_tokens: 8192 > 4096"}));
  EXPECT_FALSE(anthropic->adapt(own, {.message = "max_tokens: 4096 > 100"}));
  EXPECT_FALSE(anthropic->adapt(options, {.message = "max_tokens: 5 > 4"}));  // the user's own
}

}  // namespace
}  // namespace cay::agent
