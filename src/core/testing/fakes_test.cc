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

TEST_F(FakesTest, ASealedLayerHoldsWhatWasWrittenAndCanBeMounted) {
  BootSpec spec;
  spec.id = SandboxId("builder");
  spec.layer = LayerId("below");
  spec.builds_layer = true;
  auto builder = run(loop, runtime.boot(spec));
  LayerEntry entry;
  entry.path = "etc/motd";
  entry.size = 2;
  ASSERT_TRUE(run(loop, (*builder)->write_layer(layer_source({entry, Bytes("hi")}))));
  auto& layers = *runtime.layers();
  auto sealed = run(loop, layers.seal(SandboxId("builder"), LayerId("top")));
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->below, std::vector<LayerId>{LayerId("below")});
  EXPECT_EQ(run(loop, layers.seal(SandboxId("builder"), LayerId("top"))).error().reason,
            "layer_exists");

  BootSpec reader;
  reader.id = SandboxId("reader");
  reader.layer = LayerId("top");
  reader.mounts = {{.path = "/layer", .layer = LayerId("top")}};
  auto box = run(loop, runtime.boot(reader));
  EXPECT_EQ(run(loop, layers.remove(LayerId("top"))).error().reason, "layer_in_use");
  auto source = run(loop, (*box)->read_layer("/layer"));
  ASSERT_TRUE(source);
  EXPECT_EQ(std::get<LayerEntry>(**run(loop, (*source)->next())).path, "etc/motd");
  EXPECT_EQ(std::get<Bytes>(**run(loop, (*source)->next())), "hi");
  EXPECT_FALSE(*run(loop, (*source)->next()));
  ASSERT_TRUE(run(loop, runtime.destroy(SandboxId("reader"))));
  EXPECT_TRUE(run(loop, layers.remove(LayerId("top"))));
}

TEST_F(FakesTest, AForkHasTheFilesOfItsSourceAndAFreshDiskHasNone) {
  auto& source = booted();
  runtime.disk_of(SandboxId("box")).files->put("/home/user/f", "kept");
  BootSpec spec;
  spec.id = SandboxId("fork");
  spec.disk_of = SandboxId("box");
  auto fork = run(loop, runtime.boot(spec));
  ASSERT_TRUE(fork);
  EXPECT_TRUE(run(loop, (*fork)->stat("/home/user/f", {}, true)));
  spec.id = SandboxId("box");
  spec.disk_of.reset();
  spec.fresh_disk = true;
  auto again = run(loop, runtime.boot(spec));
  EXPECT_FALSE(run(loop, (*again)->stat("/home/user/f", {}, true)));
  EXPECT_TRUE(run(loop, (*fork)->stat("/home/user/f", {}, true)));
  static_cast<void>(source);
}

}  // namespace
}  // namespace cay::core::testing
