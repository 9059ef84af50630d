// Models against a real HTTP server: streams, retries, time limits, cancellation, fallback.
#include "agent/llm/http_model.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "agent/llm/calls_by_schema.h"
#include "agent/llm/testing/samples.h"
#include "async/event.h"
#include "async/scope.h"
#include "async/testing.h"
#include "http/listener.h"

namespace cay::agent {
namespace {

using namespace std::chrono_literals;
using cay::testing::run;
using testing::expected_message;
using testing::Sample;
using testing::samples;

enum class End { kWhole, kBreak, kHang };

struct Answer {
  int status = 200;
  std::vector<std::string> pieces{};
  End end = End::kWhole;
  std::vector<std::pair<std::string, std::string>> headers{};
};

class Pieces final : public ByteSource {
 public:
  explicit Pieces(Answer answer) : answer_(std::move(answer)) {}
  Task<Bytes> next() override {
    while (at_ < answer_.pieces.size()) {
      const std::string& piece = answer_.pieces[at_++];
      if (!piece.empty()) co_return piece;  // an empty one would be the end
    }
    if (answer_.end == End::kWhole) co_return Bytes();
    if (answer_.end == End::kHang) {
      auto executor = co_await asio::this_coro::executor;
      Event never(executor);
      co_await never.wait();
    }
    co_return Error{Code::kUnavailable, "connection_lost", "broken by the test", 0};
  }

 private:
  Answer answer_;
  std::size_t at_ = 0;
};

struct Request {
  std::string method, target, body;
  std::map<std::string, std::string> headers;
};

struct HttpModelTest : ::testing::Test {
  asio::io_context loop;
  std::unique_ptr<http::Listener> server;
  std::uint16_t port = 0;
  std::deque<Answer> answers;     // the last one is repeated
  std::vector<Request> requests;  // that came
  std::vector<Millis> pauses;     // between tries
  std::unique_ptr<Model> model;
  std::string deltas;  // of each its kind and its text

  HttpModelTest() {
    server = std::make_unique<http::Listener>(
        loop.get_executor(), http::ListenerConfig{},
        [this](std::shared_ptr<http::Exchange> exchange) { return serve(std::move(exchange)); });
    auto got = server->start();
    if (got) port = *got;
  }
  ~HttpModelTest() override {
    model.reset();
    run(loop, server->shutdown(Millis(0)));
  }

  asio::awaitable<void> serve(std::shared_ptr<http::Exchange> exchange) {
    auto body = co_await exchange->read_body(1u << 20);
    Request request{exchange->head().method, exchange->head().target, body ? *body : "", {}};
    for (const auto& [name, value] : exchange->head().headers.items())
      request.headers[name] = value;
    requests.push_back(std::move(request));
    Answer answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    http::Headers headers;
    for (const auto& [name, value] : answer.headers) headers.add(name, value);
    const int status = answer.status;
    auto source = std::make_unique<Pieces>(std::move(answer));
    co_await exchange->respond_stream(status, headers, std::nullopt, std::move(source));
  }

  ModelHooks hooks() {
    return {.sleep = [this](Millis time) { return pause(time); },
            .random = [] { return 0.0; },
            .now = [] { return UnixMillis{784'111'777'000}; }};
  }
  asio::awaitable<void> pause(Millis time) {
    pauses.push_back(time);
    co_return;
  }

  std::unique_ptr<Model> make(Vendor vendor, ModelSettings settings = {}) {
    Endpoint endpoint{vendor, "http://127.0.0.1:" + std::to_string(port) + "/v1", "the-key", "m"};
    auto made = HttpModel::create(loop.get_executor(), endpoint, std::move(settings), hooks());
    EXPECT_TRUE(made);
    return *std::move(made);
  }
  OnDelta record() {
    return [this](const Delta& delta) {
      deltas += std::to_string(static_cast<int>(delta.kind)) + delta.text + "|";
    };
  }
  Result<ModelReply> complete() {
    ModelRequest request;
    request.messages = {Message::of(Role::kUser, "Go.")};
    return run(loop, model->complete(std::move(request), record()));
  }
  std::string reason() {
    auto got = complete();
    return got ? "none" : got.error().reason;
  }
};

Answer text_answer(const std::string& text) {
  return {.pieces = {R"({"choices":[{"message":{"content":")" + text +
                     R"("},"finish_reason":"stop"}]})"}};
}

TEST_F(HttpModelTest, AStreamIsTheSameHoweverItIsCut) {
  for (const Sample& sample : samples()) {
    model = make(sample.vendor);
    for (std::size_t cut = 1; cut < sample.streamed.size(); cut += 23) {
      answers = {{.pieces = {sample.streamed.substr(0, cut), sample.streamed.substr(cut)}}};
      auto got = complete();
      ASSERT_TRUE(got) << got.error().message;
      ASSERT_EQ(got->message, expected_message(sample)) << cut;
      ASSERT_EQ(got->usage, sample.usage);
    }
    Answer bytes;
    for (const char c : sample.streamed) bytes.pieces.emplace_back(1, c);
    answers = {bytes};
    auto got = complete();
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->message, expected_message(sample));
    EXPECT_EQ(server->connections(), 1u);
  }
}

TEST_F(HttpModelTest, RequestsHaveTheirVendorsTargetAndKey) {
  answers = {text_answer("hi")};
  model = make(Vendor::kOpenAi);
  ASSERT_TRUE(complete());
  EXPECT_EQ(requests.back().target, "/v1/chat/completions");
  EXPECT_EQ(requests.back().headers["Authorization"], "Bearer the-key");
  answers = {{.pieces = {testing::responses_sample().whole}}};
  model = make(Vendor::kOpenAiResponses);
  ASSERT_TRUE(complete());
  EXPECT_EQ(requests.back().target, "/v1/responses");
  answers = {{.pieces = {testing::anthropic_sample().whole}}};
  model = make(Vendor::kAnthropic);
  ASSERT_TRUE(complete());
  EXPECT_EQ(requests.back().target, "/v1/messages");
  EXPECT_EQ(requests.back().headers["x-api-key"], "the-key");
  EXPECT_EQ(requests.back().headers["anthropic-version"], "2023-06-01");
}

TEST_F(HttpModelTest, RetriesKeepTheServersPause) {
  answers = {{.status = 429, .headers = {{"Retry-After", "3"}}},
             {.status = 503,
              .headers = {{"Retry-After", "Sun, 06 Nov 1994 08:49:42 GMT"},
                          {"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}}},
             {.status = 529, .headers = {{"retry-after-ms", "70"}}},
             {.status = 500},
             text_answer("hi")};
  model = make(Vendor::kOpenAi, {.max_retries = 4});
  auto got = complete();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->tries, 5u);
  EXPECT_EQ(pauses, (std::vector<Millis>{3000ms, 5000ms, 70ms, 4000ms}));
  EXPECT_EQ(deltas, "0hi|");  // nothing was void
}

TEST_F(HttpModelTest, RetriesEnd) {
  answers = {{.status = 429, .pieces = {R"({"error":{"message":"slow down"}})"}}};
  model = make(Vendor::kOpenAi);
  auto got = complete();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kExhausted);
  EXPECT_EQ(got.error().reason, "model_rate_limited");
  EXPECT_NE(got.error().message.find("slow down (3 requests)"), std::string::npos);
  EXPECT_EQ(requests.size(), 3u);
}

TEST_F(HttpModelTest, APauseBehindTheTimeLimitIsNotBegun) {
  answers = {{.status = 429, .headers = {{"Retry-After", "3600"}}}};
  model = make(Vendor::kOpenAi);
  auto got = complete();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "model_rate_limited");
  EXPECT_NE(got.error().message.find("3600000 ms"), std::string::npos);
  EXPECT_TRUE(pauses.empty());
}

TEST_F(HttpModelTest, TheRequestsOwnFaultsAreNotRepeated) {
  const std::vector<std::pair<Answer, std::string>> cases{
      {{.status = 400}, "model_request_refused"},
      {{.status = 401}, "model_key_refused"},
      {{.status = 402}, "model_quota"},
      {{.status = 404}, "model_unknown"},
      {{.status = 413}, "context_overflow"},
      {{.status = 301}, "model_request_refused"},
      {{.status = 429, .pieces = {R"({"error":{"code":"insufficient_quota"}})"}}, "model_quota"},
      {{.status = 503, .headers = {{"x-should-retry", "false"}}}, "model_overloaded"}};
  model = make(Vendor::kOpenAi);
  for (const auto& [answer, expected] : cases) {
    requests.clear();
    answers = {answer};
    EXPECT_EQ(reason(), expected);
    EXPECT_EQ(requests.size(), 1u) << expected;
  }
}

TEST_F(HttpModelTest, ACutStreamIsSentAgainAndItsPiecesAreVoid) {
  for (const Sample& sample : samples()) {
    deltas.clear();
    answers = {
        {.pieces = {sample.streamed.substr(0, sample.streamed.size() / 2)}, .end = End::kBreak},
        {.pieces = {sample.streamed.substr(0, sample.streamed.size() / 2)}},
        {.pieces = {sample.streamed}}};
    model = make(sample.vendor);
    auto got = complete();
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->message, expected_message(sample));
    EXPECT_EQ(got->tries, 3u);
    const auto first = deltas.find("|4|");
    ASSERT_NE(first, std::string::npos) << deltas;
    EXPECT_EQ(deltas.substr(0, first), deltas.substr(first + 3, first));
    EXPECT_NE(deltas.find("|4|", first + 3), std::string::npos);
  }
  answers = {{.pieces = {"data: {}\n"}, .end = End::kBreak}};
  EXPECT_EQ(reason(), "model_cut");
}

TEST_F(HttpModelTest, MalformedAnswersAreTriedAgain) {
  answers = {{.pieces = {"<html>"}}, text_answer("hi")};
  model = make(Vendor::kOpenAi);
  auto got = complete();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->tries, 2u);
  answers = {{.pieces = {"<html>"}}};
  EXPECT_EQ(reason(), "model_bad_answer");
}

TEST_F(HttpModelTest, AnEndlessAnswerIsCutOffOnce) {
  constexpr std::size_t kPiece = 1u << 20;
  answers = {{.pieces = std::vector<std::string>(65, std::string(kPiece, ' '))}};
  model = make(Vendor::kOpenAi);
  EXPECT_EQ(reason(), "model_bad_answer");
  EXPECT_EQ(requests.size(), 1u);
}

TEST_F(HttpModelTest, SilenceHasALimit) {
  answers = {
      {.pieces = {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"}, .end = End::kHang}};
  model = make(Vendor::kOpenAi, {.max_retries = 1, .silence_timeout = 20ms});
  auto got = complete();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(got.error().reason, "model_timeout");
  EXPECT_EQ(deltas, "0a|4|0a|");
  answers = {{.end = End::kHang}};
  model = make(Vendor::kOpenAi, {.max_retries = 0, .first_byte_timeout = 20ms});
  EXPECT_EQ(reason(), "model_timeout");
  model = make(Vendor::kOpenAi, {.max_retries = 0, .timeout = 20ms});
  EXPECT_EQ(reason(), "model_timeout");
}

TEST_F(HttpModelTest, CancellingEndsTheRequestInMidStream) {
  answers = {
      {.pieces = {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"}, .end = End::kHang}};
  model = make(Vendor::kOpenAi);
  bool ended = false;
  const auto cancel = [&]() -> asio::awaitable<void> {
    Event begun(loop.get_executor());
    Scope scope(loop.get_executor());
    OnDelta on_delta = [&begun](const Delta&) { begun.set(); };
    auto work = [&](OnDelta to) -> asio::awaitable<void> {
      try {
        auto got = co_await model->complete({}, std::move(to));
        static_cast<void>(got);
      } catch (...) {
        ended = is_cancellation(std::current_exception());
        throw;
      }
    };
    scope.spawn(work(std::move(on_delta)));
    co_await begun.wait();
    scope.cancel();
    co_await scope.join();
  };
  run(loop, cancel());
  EXPECT_TRUE(ended);
  EXPECT_EQ(requests.size(), 1u);
}

TEST_F(HttpModelTest, NoMessageHasTheKey) {
  answers = {{.status = 401, .pieces = {R"({"error":{"message":"Bad key the-key!"}})"}}};
  model = make(Vendor::kAnthropic);
  auto got = complete();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message.find("the-key"), std::string::npos) << got.error().message;
  EXPECT_NE(got.error().message.find("Bad key …!"), std::string::npos) << got.error().message;
  EXPECT_NE(got.error().message.find("ANTHROPIC_API_KEY"), std::string::npos);
}

TEST_F(HttpModelTest, AMemberThatTheServerRefusesIsLeftOut) {
  answers = {{.status = 400,
              .pieces = {R"({"error":{"message":"no such field",)"
                         R"("param":"stream_options"}})"}},
             text_answer("hi")};
  model = make(Vendor::kOpenAi, {.max_retries = 0});
  ASSERT_TRUE(complete());
  EXPECT_NE(requests[0].body.find("stream_options"), std::string::npos);
  EXPECT_EQ(requests[1].body.find("stream_options"), std::string::npos);
  ASSERT_TRUE(complete());
  EXPECT_EQ(requests.size(), 3u);  // it is remembered
}

TEST_F(HttpModelTest, ANobodyAtTheAddressIsUnreachable) {
  Endpoint endpoint{Vendor::kOpenAi, "http://127.0.0.1:1/v1", "", "m"};
  auto made = HttpModel::create(loop.get_executor(), endpoint, {}, hooks());
  ASSERT_TRUE(made);
  model = *std::move(made);
  auto got = complete();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "model_unreachable");
  EXPECT_NE(got.error().message.find("OPENAI_BASE_URL"), std::string::npos);
  EXPECT_EQ(pauses, (std::vector<Millis>{500ms, 1000ms}));
}

TEST_F(HttpModelTest, TheOnlyModelOfAServerNeedsNoName) {
  Endpoint endpoint{Vendor::kOpenAi, "http://127.0.0.1:" + std::to_string(port) + "/v1", "", ""};
  const auto start = [&] {
    auto made = HttpModel::create(loop.get_executor(), endpoint, {}, hooks());
    ASSERT_TRUE(made);
    model = *std::move(made);
  };
  start();
  answers = {{.pieces = {R"({"data":[{"id":"one"},{"id":"two"}]})"}}};
  auto got = complete();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "model_unknown");
  EXPECT_NE(got.error().message.find("one, two. Set OPENAI_MODEL"), std::string::npos);
  start();
  answers = {{.pieces = {R"({"data":[{"id":"one"}]})"}}, text_answer("hi")};
  ASSERT_TRUE(complete());
  EXPECT_EQ(model->name(), "openai:one");
  EXPECT_EQ(requests[1].target, "/v1/models");
  EXPECT_NE(requests[2].body.find(R"("model":"one")"), std::string::npos);
}

TEST_F(HttpModelTest, TheFallbackTakesWhatIsNotTheRequestsFault) {
  answers = {{.status = 500}, text_answer("second")};
  model = with_fallback(make(Vendor::kOpenAi, {.max_retries = 0}), make(Vendor::kOpenAi));
  auto got = complete();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->message.text(), "second");
  answers = {{.status = 400}, text_answer("second")};
  EXPECT_EQ(reason(), "model_request_refused");
}

TEST_F(HttpModelTest, CallsBySchemaAreCalls) {
  model = with_calls_by_schema(make(Vendor::kOpenAi));
  ModelRequest request;
  request.messages = {Message::of(Role::kSystem, "Be brief."), Message::of(Role::kUser, "Go.")};
  ToolSpec tool{"ls", "Lists files.", {}};
  tool.parameters["type"] = "object";
  request.tools.push_back(tool);
  answers = {text_answer(R"(Sure: {\"tool\":\"ls\",\"arguments\":{\"path\":\"/\"}})")};
  auto got = run(loop, model->complete(request, record()));
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(got->message.calls.size(), 1u);
  EXPECT_EQ(got->message.calls[0].name, "ls");
  EXPECT_EQ(got->message.calls[0].arguments, R"({"path":"/"})");
  EXPECT_EQ(got->stop, StopReason::kToolCalls);
  EXPECT_EQ(deltas, R"(2ls|3{"path":"/"}|)");
  EXPECT_EQ(requests[0].body.find("\"tools\""), std::string::npos);
  EXPECT_NE(requests[0].body.find(R"("enum":["ls"])"), std::string::npos);
  EXPECT_NE(requests[0].body.find("Lists files."), std::string::npos);

  request.messages.push_back(got->message);
  Message result = Message::of(Role::kTool, "a.txt");
  result.call_id = got->message.calls[0].id;
  result.tool = "ls";
  request.messages.push_back(result);
  answers = {text_answer(R"({\"answer\":\"One file.\"})")};
  got = run(loop, model->complete(request, record()));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->message, Message::of(Role::kAssistant, "One file."));
  EXPECT_EQ(got->stop, StopReason::kEnd);
  EXPECT_NE(requests[1].body.find(R"({"role":"user","content":"Result of ls:\na.txt"})"),
            std::string::npos);
}

TEST_F(HttpModelTest, ASmallModelReadsShortDescriptions) {
  ModelRequest request;
  request.messages = {Message::of(Role::kUser, "Go.")};
  ToolSpec tool{"execute", "Runs 1.5 lines. Each is new.", {}};
  tool.parameters = *codec::parse_object(
      R"({"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"}},)"
      R"("required":["command"]})");
  request.tools = {tool, {"ls", "Lists", *codec::parse_object(R"({"type":"object"})")}};
  const std::string usual = request_by_schema(request).messages.front().text();
  EXPECT_NE(usual.find("Each is new."), std::string::npos);
  EXPECT_NE(usual.find("timeout"), std::string::npos);
  const auto small = request_by_schema(request, Size::kSmall);
  const std::string text = small.messages.front().text();
  EXPECT_NE(text.find("## execute\nRuns 1.5 lines.\nArguments"), std::string::npos) << text;
  EXPECT_EQ(text.find("timeout"), std::string::npos);
  EXPECT_NE(text.find("## ls\nLists\n"), std::string::npos) << text;
  EXPECT_EQ(codec::write(small.response_schema).find("timeout"), std::string::npos);
}

TEST_F(HttpModelTest, AModelThatRepeatsItsCallGetsARequestForItsAnswer) {
  model = with_calls_by_schema(make(Vendor::kOpenAi));
  ModelRequest request;
  request.messages = {Message::of(Role::kSystem, "Be brief."), Message::of(Role::kUser, "Go.")};
  ToolSpec tool{"execute", "Runs.", {}};
  tool.parameters["type"] = "object";
  request.tools.push_back(tool);
  const auto call = text_answer(R"({\"tool\":\"execute\",\"arguments\":{\"command\":\"date\"}})");
  const auto step = [&](const std::string& printed) {
    answers = {call};
    auto got = run(loop, model->complete(request, record()));
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->message.calls.size(), 1U);
    request.messages.push_back(got->message);
    Message result = Message::of(Role::kTool, printed);
    result.call_id = got->message.calls[0].id;
    result.tool = "execute";
    request.messages.push_back(result);
  };
  step("Monday");
  step("Tuesday");
  step("Tuesday");
  answers = {call, text_answer("It is Tuesday.")};
  deltas.clear();
  requests.clear();
  auto got = run(loop, model->complete(request, record()));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->message, Message::of(Role::kAssistant, "It is Tuesday."));
  EXPECT_EQ(got->tries, 2U);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].body.find("response_format"), std::string::npos);
  EXPECT_NE(requests[1].body.find(
                R"([{"role":"user","content":"Go."},)"
                R"({"role":"assistant","content":"The result of `date` is:\nMonday"},)"
                R"({"role":"assistant","content":"The result of `date` is:\nTuesday"},)"
                R"({"role":"user","content":"Answer with the result, in one sentence."}])"),
            std::string::npos)
      << requests[1].body;
}

}  // namespace
}  // namespace cay::agent
