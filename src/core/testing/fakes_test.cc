// The fakes keep the ports' promises as far as tests lean on them.
#include <gtest/gtest.h>

#include "core/testing/fake_runtime.h"
#include "core/testing/manual_clock.h"
#include "core/testing/run.h"

namespace cay::core::testing {
namespace {

class FakesTest : public ::testing::Test {
 protected:
  LiveSandbox& booted() {
    BootSpec spec;
    spec.id = SandboxId("box");
    auto live = run(loop, runtime.boot(std::move(spec)));
    return **live;
  }
  CommandSpec spec_of(const std::string& id) {
    CommandSpec spec;
    spec.id = CommandId(id);
    spec.argv = {"program"};
    return spec;
  }

  asio::io_context loop;
  ManualClock clock;
  FakeRuntime runtime{loop.get_executor(), clock};
};

TEST_F(FakesTest, ReaderGetsOutputInOrderThenTheEnd) {
  runtime.program = [](const CommandSpec&) {
    return FakeProgram{
        {{Stream::kStdout, "a"}, {Stream::kStderr, "b"}}, exited(3), {}, false, false};
  };
  LiveSandbox& live = booted();
  ASSERT_TRUE(run(loop, live.start(spec_of("c"))));
  auto reader = run(loop, live.attach(CommandId("c"), {}));
  ASSERT_TRUE(reader);
  EXPECT_EQ(std::get<OutputData>(*run(loop, (*reader)->next())).bytes, "a");
  EXPECT_EQ(std::get<OutputData>(*run(loop, (*reader)->next())).stream, Stream::kStderr);
  EXPECT_EQ(std::get<OutputEnd>(*run(loop, (*reader)->next())).command.end.exit_code, 3);
  EXPECT_EQ(run(loop, (*reader)->next()).error().reason, "stream_ended");
}

TEST_F(FakesTest, ReaderWaitsForOutputAndForTheEnd) {
  runtime.program = [](const CommandSpec&) { return FakeProgram{{}, {}, {}, true, false}; };
  LiveSandbox& live = booted();
  ASSERT_TRUE(run(loop, live.start(spec_of("c"))));
  auto reader = run(loop, live.attach(CommandId("c"), {}));
  auto pending = start(loop, (*reader)->next());
  EXPECT_FALSE(pending->done());
  ASSERT_TRUE(run(loop, live.write_stdin(CommandId("c"), "hi", false)));
  EXPECT_EQ(std::get<OutputData>(*finish(loop, *pending)).bytes, "hi");
  ASSERT_TRUE(run(loop, live.close_stdin(CommandId("c"))));
  EXPECT_EQ(std::get<OutputEnd>(*run(loop, (*reader)->next())).command.end.state,
            CommandState::kExited);
}

TEST_F(FakesTest, AttachAtAnOffsetSkipsWhatWasRead) {
  LiveSandbox& live = booted();
  runtime.only_box().fake_commands().program = [](const CommandSpec&) {
    return FakeProgram{{{Stream::kStdout, "hello world"}}, exited(0), {}, false, false};
  };
  ASSERT_TRUE(run(loop, live.start(spec_of("c"))));
  auto reader = run(loop, live.attach(CommandId("c"), {6, 0}));
  const auto event = run(loop, (*reader)->next());
  EXPECT_EQ(std::get<OutputData>(*event).bytes, "world");
  EXPECT_EQ(std::get<OutputData>(*event).offset, 6U);
}

TEST_F(FakesTest, DeathFailsReadersAndTellsTheWatcher) {
  std::string told;
  runtime.watch([&](SandboxDeath death) { told = death.reason; });
  runtime.program = [](const CommandSpec&) { return FakeProgram{}; };
  LiveSandbox& live = booted();
  ASSERT_TRUE(run(loop, live.start(spec_of("c"))));
  auto reader = run(loop, live.attach(CommandId("c"), {}));
  auto pending = start(loop, (*reader)->next());
  runtime.die(SandboxId("box"), "keeper lost");
  EXPECT_EQ(finish(loop, *pending).error().code, Code::kLost);
  EXPECT_EQ(told, "keeper lost");
}

TEST_F(FakesTest, FilesAreWrittenReadListedAndFound) {
  LiveSandbox& live = booted();
  ASSERT_TRUE(run(loop, live.write("/app/a.txt", {}, bytes_source("one\ntwo\n", 3))));
  EXPECT_EQ(runtime.only_box().fake_files().bytes_of("/app/a.txt"), "one\ntwo\n");
  auto stream = run(loop, live.read("a.txt", {"", "/app"}, {4, 3}));
  EXPECT_EQ(*run(loop, stream->bytes->next()), "two");
  EXPECT_EQ(run(loop, live.list("/app", {}))->size(), 1U);
  EXPECT_EQ(run(loop, live.glob("/", "**/*.txt", {}, 0))->matches.size(), 1U);
  EXPECT_EQ(run(loop, live.grep("/app", "two", "*.txt", {}, 0))->matches.at(0).line, 2U);
  runtime.only_box().fake_files().disk_full = true;
  EXPECT_EQ(run(loop, live.write("/app/b", {}, bytes_source("x"))).error().reason, "disk_full");
  EXPECT_EQ(run(loop, live.read("/app", {}, {})).error().reason, "is_a_directory");
}

TEST_F(FakesTest, TreesRoundTrip) {
  LiveSandbox& live = booted();
  runtime.only_box().fake_files().put("/src/d/f", "data", 0600);
  auto tree = run(loop, live.read_tree("/src", {}));
  ASSERT_TRUE(run(loop, live.write_tree("/copy", {}, *std::move(tree))));
  EXPECT_EQ(runtime.only_box().fake_files().bytes_of("/copy/d/f"), "data");
}

}  // namespace
}  // namespace cay::core::testing
