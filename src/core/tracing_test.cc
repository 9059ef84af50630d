// Trace context through the core: spans for creations and commands, and the context that a command
// gets.
#include <algorithm>

#include "core/core_fixture.h"
#include "core/tracer.h"
#include "model/trace.h"

namespace cay::core {
namespace {

constexpr const char* kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContextTest, ReadsWhatTheStandardSaysAndNothingElse) {
  const auto good = parse_traceparent(kParent);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(good->span_id, "b7ad6b7169203331");
  EXPECT_TRUE(good->sampled);
  EXPECT_EQ(traceparent(*good), kParent);
  EXPECT_FALSE(
      parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")->sampled);
  EXPECT_TRUE(parse_traceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what"));
  for (const char* bad : {"", "00", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                          "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                          "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                          "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                          "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                          "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    EXPECT_FALSE(parse_traceparent(bad)) << bad;
  }
  const auto child = child_of(*good);
  EXPECT_EQ(child.trace_id, good->trace_id);
  EXPECT_NE(child.span_id, good->span_id);
  EXPECT_TRUE(parse_traceparent(traceparent(child)));
}

class TracingTest : public CoreTest {
 protected:
  TracingTest() {
    EXPECT_TRUE(open());
    alice.trace = *parse_traceparent(kParent);
  }
  void listen() {
    core->on_span([this](Span span) { spans.push_back(std::move(span)); });
  }
  Result<Command> start(const std::string& id) {
    return run(core->commands().start(alice, "box", command(id)));
  }
  std::string told(const std::string& id) {
    return runtime.only_box().fake_commands().table.at(CommandId(id)).spec.traceparent;
  }

  std::vector<Span> spans;
};

TEST_F(TracingTest, ACommandIsToldItsOwnSpan) {
  listen();
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("c1"));
  drain();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].name, "sandbox create");
  EXPECT_EQ(spans[0].parent_id, alice.trace.span_id);
  EXPECT_EQ(spans[1].name, "command");
  EXPECT_EQ(spans[1].trace.trace_id, alice.trace.trace_id);
  EXPECT_EQ(spans[1].parent_id, alice.trace.span_id);
  EXPECT_EQ(spans[1].attributes.at("cay.command.state"), "exited");
  EXPECT_EQ(told("c1"), traceparent(spans[1].trace));
}

TEST_F(TracingTest, WithoutACollectorTheCallersOwnIsPassedOn) {
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("c1"));
  EXPECT_EQ(told("c1"), kParent);
  alice.trace = {};
  ASSERT_TRUE(start("c2"));
  EXPECT_EQ(told("c2"), "");
}

TEST_F(TracingTest, WhatIsNotSampledMakesNoSpan) {
  listen();
  alice.trace.sampled = false;
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("c1"));
  EXPECT_TRUE(spans.empty());
  EXPECT_EQ(told("c1"), traceparent(alice.trace));
}

TEST_F(TracingTest, AFailedCreationSaysSo) {
  listen();
  runtime.boot_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher", 0};
  EXPECT_FALSE(create("box"));
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_NE(spans[0].error.find("no launcher"), std::string::npos);
}

TEST_F(TracingTest, ASpanSurvivesARestart) {
  runtime.program = [](const CommandSpec&) {
    return testing::FakeProgram{{}, {}, {}, false, false};
  };
  listen();
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("c1"));
  drain();
  ASSERT_TRUE(store.flush_events());
  const std::string given = told("c1");
  spans.clear();
  ASSERT_TRUE(open());
  listen();
  drain();
  runtime.only_box().fake_commands().end(CommandId("c1"), testing::exited(0));
  drain();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(traceparent(spans[0].trace), given);
  EXPECT_EQ(spans[0].parent_id, alice.trace.span_id);
}

TEST_F(TracingTest, ASpanSurvivesADaemonThatIsKilledBeforeItWroteAnything) {
  runtime.program = [](const CommandSpec&) {
    return testing::FakeProgram{{}, {}, {}, false, false};
  };
  listen();
  ASSERT_TRUE(create("box"));
  auto& commands = runtime.only_box().fake_commands();
  commands.keeps_notes = true;
  store.write_error = Error{Code::kInternal, "disk_full", "no room", 0};
  ASSERT_TRUE(start("c1"));
  const std::string given = told("c1");
  commands.listen({}, [](NoteMark, const Command&) {});
  store.lose_held();
  store.write_error.reset();
  ASSERT_TRUE(std::ranges::none_of(
      store.journal, [](const EventRecord& event) { return event.command_id == CommandId("c1"); }));
  spans.clear();
  ASSERT_TRUE(open());
  listen();
  drain();
  commands.end(CommandId("c1"), testing::exited(0));
  drain();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(traceparent(spans[0].trace), given);
  EXPECT_EQ(spans[0].parent_id, alice.trace.span_id);
}

TEST(TraceTest, WhatAKeeperSaysOfATraceIsLookedAt) {
  const std::string good = std::string(kParent) + " b7ad6b7169203331";
  EXPECT_TRUE(Tracer::is_kept(good));
  for (const std::string& bad :
       {std::string(), std::string(kParent), std::string(kParent) + " ", good + "0",
        good.substr(0, good.size() - 1) + "X", std::string(kParent) + " 0000000000000000",
        "cc" + good.substr(2), "x" + good}) {
    EXPECT_FALSE(Tracer::is_kept(bad)) << bad;
  }
}

}  // namespace
}  // namespace cay::core
