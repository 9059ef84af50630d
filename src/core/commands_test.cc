#include "core/core_fixture.h"

namespace cay::core {
namespace {

using testing::exited;
using testing::FakeProgram;

class CommandsTest : public CoreTest {
 protected:
  CommandsTest() {
    EXPECT_TRUE(open());
    runtime.program = [](const CommandSpec&) {
      FakeProgram program;
      program.output = {{Stream::kStdout, "out"}};
      program.end = exited(7);
      return program;
    };
    id = create("box")->id;
  }
  void stop() { ASSERT_TRUE(run(core->sandboxes().stop(alice, "box"))); }
  SandboxId id;
};

TEST_F(CommandsTest, RunGivesOutputAndTheEnd) {
  auto reader = run(core->commands().run(alice, "box", command("c")));
  ASSERT_TRUE(reader);
  EXPECT_EQ(std::get<OutputData>(*run((*reader)->next())).bytes, "out");
  EXPECT_EQ(std::get<OutputEnd>(*run((*reader)->next())).command.end.exit_code, 7);
}

TEST_F(CommandsTest, MakesAnIdAndLayersTheRunConfig) {
  SandboxPatch patch;
  patch.run = RunConfig{.user = "user", .workdir = "/app", .env = {{"A", "1"}, {"B", "1"}}};
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  CommandSpec spec = command("");
  spec.run.env["B"] = "2";
  const auto started = run(core->commands().start(alice, "box", spec));
  ASSERT_TRUE(started);
  EXPECT_TRUE(is_uuid(started->id.get()));
  const RunConfig got = runtime.box(id).fake_commands().started.at(0).run;
  EXPECT_EQ(got.user, "user");
  EXPECT_EQ(got.workdir, "/app");
  EXPECT_EQ(got.env, (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}}));
}

TEST_F(CommandsTest, RepeatedStartIsKnownAndAnotherRequestAConflict) {
  ASSERT_TRUE(run(core->commands().start(alice, "box", command("c"))));
  auto again = run(core->commands().run(alice, "box", command("c")));
  EXPECT_TRUE((*again)->command().known);
  EXPECT_EQ(runtime.box(id).fake_commands().started.size(), 1U);
  CommandSpec other = command("c");
  other.argv = {"other"};
  EXPECT_EQ(run(core->commands().start(alice, "box", other)).error().code, Code::kConflict);
}

TEST_F(CommandsTest, TheSandboxsEnvironmentCountsToo) {
  SandboxPatch patch;
  patch.run.emplace();
  for (int i = 0; i < 10; ++i) patch.run->env["V" + std::to_string(i)] = std::string(100'000, 'x');
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  CommandSpec spec = command("c");
  spec.argv = {"/bin/sh", "-c", std::string(900'000, 'x')};
  spec.shell_line = true;  // an argument could not be so long, a line can
  EXPECT_TRUE(run(core->commands().start(alice, "box", spec)));
  spec = command("d");
  spec.argv = {"/bin/sh", "-c", std::string(1'100'000, 'x')};
  spec.shell_line = true;
  EXPECT_EQ(run(core->commands().start(alice, "box", spec)).error().reason, "arguments_too_long");
}

TEST_F(CommandsTest, RefusesBadRequestsWithoutWaking) {
  stop();
  const auto reason = [&](CommandSpec spec) {
    return run(core->commands().start(alice, "box", std::move(spec))).error().reason;
  };
  CommandSpec spec = command("c");
  spec.argv.clear();
  EXPECT_EQ(reason(spec), "invalid_argv");
  spec.argv = {"a", std::string("b\0c", 3)};
  EXPECT_EQ(reason(spec), "invalid_argv");
  spec.argv = {std::string(kMaxArgumentBytes + 1, 'x')};
  EXPECT_EQ(reason(spec), "arguments_too_long");
  spec.argv = std::vector<std::string>(20, std::string(120 * 1024, 'x'));
  EXPECT_EQ(reason(spec), "arguments_too_long");
  spec.argv = {"/bin/sh", "-c", std::string(kMaxCommandBytes, 'x')};
  spec.shell_line = true;
  EXPECT_EQ(reason(spec), "arguments_too_long");
  EXPECT_EQ(reason(command("../x")), "invalid_command_id");
  spec = command("c");
  spec.run.workdir = "app";
  EXPECT_EQ(reason(spec), "invalid_workdir");
  spec = command("c");
  spec.timeout_ms = -5;
  EXPECT_EQ(reason(spec), "invalid_timeout");
  EXPECT_EQ(run(core->commands().kill(alice, "box", CommandId("c"), 65)).error().reason,
            "invalid_signal");
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(CommandsTest, ManyAtOnceWakeAStoppedOneOnce) {
  stop();
  runtime.hold_boots = true;
  std::vector<std::shared_ptr<testing::Started<Command>>> started;
  for (int i = 0; i < 10; ++i) {
    started.push_back(
        begin(core->commands().start(alice, "box", command("c" + std::to_string(i)))));
  }
  EXPECT_EQ(state("box"), SandboxState::kProvisioning);
  runtime.release_boots();
  for (auto& one : started) EXPECT_TRUE(finish(one));
  EXPECT_EQ(runtime.boots.size(), 2U);  // the first one and one wake
}

TEST_F(CommandsTest, WakeThatTakesTooLongIsNotReadyAndGoesOn) {
  stop();
  runtime.hold_boots = true;
  const auto got = run(core->commands().start(alice, "box", command("c")));
  EXPECT_EQ(got.error().code, Code::kNotReady);
  EXPECT_EQ(got.error().reason, "sandbox_not_ready");
  runtime.release_boots();
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(CommandsTest, WakeOnAFullHostLeavesItStopped) {
  stop();
  runtime.boot_error = Error{Code::kExhausted, "quota_memory", "memory is exhausted"};
  const auto got = run(core->commands().start(alice, "box", command("c")));
  EXPECT_EQ(got.error().code, Code::kExhausted);
  EXPECT_EQ(got.error().reason, "quota_memory");
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(CommandsTest, WakeThatBreaksFailsTheSandbox) {
  stop();
  runtime.boot_error = Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM"};
  EXPECT_EQ(run(core->commands().start(alice, "box", command("c"))).error().code, Code::kNotReady);
  EXPECT_EQ(state("box"), SandboxState::kFailed);
  EXPECT_TRUE(runtime.disks.contains(id));  // somebody's work stays
}

TEST_F(CommandsTest, CallerOfAWakeThatGoesAwayLeavesTheOthersAlone) {
  stop();
  runtime.hold_boots = true;
  auto gone = begin(core->commands().start(alice, "box", command("a")));
  auto stays = begin(core->commands().start(alice, "box", command("b")));
  gone->cancel();
  drain();
  runtime.release_boots();
  EXPECT_TRUE(finish(stays));
}

TEST_F(CommandsTest, StoppedOnesCommandsAreReadWithoutWaking) {
  ASSERT_TRUE(run(core->commands().start(alice, "box", command("c"))));
  stop();
  auto reader = run(core->commands().attach(alice, "box", CommandId("c"), {1, 0}));
  ASSERT_TRUE(reader);
  EXPECT_EQ(std::get<OutputData>(*run((*reader)->next())).bytes, "ut");
  EXPECT_EQ(run(core->commands().get(alice, "box", CommandId("c")))->end.exit_code, 7);
  EXPECT_EQ(run(core->commands().list(alice, "box"))->size(), 1U);
  EXPECT_TRUE(run(core->commands().kill(alice, "box", CommandId("c"), 0)));
  EXPECT_EQ(run(core->commands().get(alice, "box", CommandId("x"))).error().reason,
            "unknown_command");
  EXPECT_EQ(run(core->commands().attach(alice, "box", CommandId("x"), {})).error().reason,
            "unknown_command");
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(CommandsTest, AReadWhoseWakeFailsIsServedFromTheSpools) {
  ASSERT_TRUE(run(core->commands().run(alice, "box", command("c"))));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  runtime.boot_error = Error{Code::kInternal, "mount_failed", "mount: EPERM", 0};
  runtime.hold_boots = true;
  auto wake = begin(core->files().stat(alice, "box", "/", {}, true));
  drain();
  ASSERT_EQ(state("box"), SandboxState::kProvisioning);
  auto read = begin(core->commands().attach(alice, "box", CommandId("c"), {}));
  auto got = begin(core->commands().get(alice, "box", CommandId("c")));
  auto listed = begin(core->commands().list(alice, "box"));
  drain();
  runtime.release_boots();
  EXPECT_FALSE(finish(wake));
  EXPECT_TRUE(finish(read));
  EXPECT_TRUE(finish(got));
  EXPECT_EQ(finish(listed)->size(), 1U);
  EXPECT_EQ(state("box"), SandboxState::kFailed);
}

TEST_F(CommandsTest, AWakeMeetsAStopAndADelete) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  runtime.hold_boots = true;
  auto wake = begin(core->files().stat(alice, "box", "/", {}, true));
  drain();
  auto stop = begin(core->sandboxes().stop(alice, "box"));
  auto late =
      begin(core->files().stat(alice, "box", "/", {}, true));  // wakes it anew after the stop
  drain();
  runtime.release_boots();
  EXPECT_EQ(finish(wake).error().reason, "sandbox_not_ready");
  EXPECT_TRUE(finish(stop));
  const auto second = finish(late);
  EXPECT_TRUE(second || second.error().reason == "sandbox_not_ready");
  runtime.hold_stops = true;
  auto remove = begin(core->sandboxes().remove(alice, "box"));
  drain();
  auto refused = begin(core->files().stat(alice, "box", "/", {}, true));
  drain();
  runtime.release_stops();
  EXPECT_TRUE(finish(remove));
  EXPECT_FALSE(finish(refused));
  expect_nothing_left();
}

TEST_F(CommandsTest, RunIsNotLeftHalfByACallerThatGoesAway) {
  runtime.box(id).fake_commands().program = [](const CommandSpec&) { return FakeProgram{}; };
  stop();
  runtime.program = [](const CommandSpec&) { return FakeProgram{}; };
  CommandSpec spec = command("c");
  spec.kill_on_disconnect = true;
  auto reader = run(core->commands().run(alice, "box", spec));
  ASSERT_TRUE(reader);
  reader->reset();
  EXPECT_EQ(runtime.box(id).fake_commands().get(CommandId("c"))->end.by, "disconnect");
}

class FilesTest : public CommandsTest {};

TEST_F(FilesTest, CallsWakeAndReachTheSandbox) {
  stop();
  ASSERT_TRUE(run(core->files().write(alice, "box", "/app/a", {}, testing::bytes_source("text"))));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  auto stream = run(core->files().read(alice, "box", "/app/a", {}, {}));
  EXPECT_EQ(*run(stream->bytes->next()), "text");
  EXPECT_TRUE(run(stream->bytes->next())->empty());
  auto tree = run(core->files().read_tree(alice, "box", "/app", {}));
  ASSERT_TRUE(run(core->files().write_tree(alice, "box", "/copy", {}, *std::move(tree))));
  EXPECT_EQ(run(core->files().grep(alice, "box", "/copy", "ex", "", {}, 10))->matches.size(), 1U);
}

TEST_F(FilesTest, RefusesBadPaths) {
  const auto reason = [&](const std::string& path) {
    return run(core->files().stat(alice, "box", path, {}, true)).error().reason;
  };
  EXPECT_EQ(reason(""), "invalid_path");
  EXPECT_EQ(reason(std::string("a\0b", 3)), "invalid_path");
  EXPECT_EQ(reason(std::string(4096, 'a')), "invalid_path");
  EXPECT_EQ(reason("/none"), "file_not_found");
  EXPECT_EQ(run(core->files().stat(alice, "box", "a", {"", "relative"}, true)).error().reason,
            "invalid_workdir");
}

TEST_F(FilesTest, UploadCutOffByTheClientLeavesTheOldFile) {
  runtime.box(id).fake_files().put("/a", "old");
  auto got = run(core->files().write(alice, "box", "/a", {}, testing::bytes_source("newer", 1, 2)));
  EXPECT_EQ(got.error().code, Code::kCancelled);
  EXPECT_EQ(runtime.box(id).fake_files().bytes_of("/a"), "old");
}

}  // namespace
}  // namespace cay::core
