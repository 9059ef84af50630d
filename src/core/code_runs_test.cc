#include "core/code_runs.h"

#include "core/core_fixture.h"

namespace cay::core {
namespace {

using testing::ended;
using testing::exited;
using testing::FakeProgram;

code::RunRequest asked(std::string language, std::string text = "x") {
  return {.language = std::move(language), .code = std::move(text)};
}

FakeProgram prints(std::string out, CommandEnd end) {
  FakeProgram program;
  if (!out.empty()) program.output = {{Stream::kStdout, std::move(out)}};
  program.end = std::move(end);
  return program;
}

class CodeRunsTest : public CoreTest {
 protected:
  CodeRunsTest() {
    EXPECT_TRUE(open());
    runtime.program = [this](const CommandSpec& spec) { return program_of(spec); };
    id = create("box")->id;
  }
  // The preparation makes directories, and each later phase ends as `ends` has it.
  FakeProgram program_of(const CommandSpec& spec) {
    const std::string& script = spec.argv.at(2);
    if (script.find("umask 077") != std::string::npos) {
      directory = spec.argv.at(4);
      if (runtime.alive.contains(id)) files().put_directory(directory + "/output");
      return prepares;
    }
    phases.push_back(script);
    if (phases.size() == 1 && ends.size() > 1) return ends.front();
    return ends.back();
  }
  testing::FakeFiles& files() { return runtime.box(id).fake_files(); }
  Result<code::RunResult> run_code(code::RunRequest request) {
    return run(core->code().run(alice, "box", std::move(request)));
  }
  bool has_directory() { return files().tree.contains(directory); }

  SandboxId id;
  std::string directory;
  std::vector<std::string> phases;  // their scripts
  FakeProgram prepares = prints("", exited(0));
  std::vector<FakeProgram> ends{prints("4\n", exited(0))};
};

TEST_F(CodeRunsTest, TheProgramsEndIsTheResult) {
  ends = {prints("out", exited(7))};
  const auto got = run_code(asked("python", "print(4)"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->phase, code::Phase::kRun);
  EXPECT_EQ(got->command.end.exit_code, 7);
  EXPECT_EQ(got->output.out, "out");
  EXPECT_EQ(got->sandbox, id);
  EXPECT_FALSE(got->ok());
  EXPECT_FALSE(has_directory());
}

TEST_F(CodeRunsTest, TheProgramIsAFileOfItsOwnDirectory) {
  std::optional<Bytes> written;
  runtime.box(id).fake_commands().program = [&](const CommandSpec& spec) {
    if (spec.argv.at(2).find("umask 077") == std::string::npos)
      written = files().bytes_of(spec.argv.at(4) + "/main.py");
    return program_of(spec);
  };
  ASSERT_TRUE(run_code(asked("python", "print(4)")));
  EXPECT_EQ(written, "print(4)");
}

TEST_F(CodeRunsTest, AFailedCompilerIsNoExitCodeOfTheProgram) {
  ends = {prints("", exited(1)), prints("never", exited(0))};
  const auto got = run_code(asked("cpp"));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->phase, code::Phase::kCompile);
  EXPECT_EQ(phases.size(), 1U) << "the program did not start";
  EXPECT_FALSE(got->ok());
  ASSERT_EQ(got->notes.size(), 1U);
  EXPECT_NE(got->notes[0].find("the compiler exited with code 1"), std::string::npos);
}

TEST_F(CodeRunsTest, LibrariesAreInstalledBeforeAndOnlyOnce) {
  code::RunRequest request = asked("python");
  request.libraries = {"numpy"};
  auto got = run_code(request);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->installed);
  EXPECT_EQ(phases.size(), 2U);
  prepares = prints("installed\n", exited(0));
  got = run_code(request);
  EXPECT_FALSE(got->installed);
  EXPECT_EQ(phases.size(), 3U);
}

TEST_F(CodeRunsTest, AMissingToolchainIsAnErrorAndLeavesNothing) {
  prepares = prints("missing g++\n", exited(0));
  const auto got = run_code(asked("cpp"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kInvalidArgument);
  EXPECT_EQ(got.error().reason, "toolchain_missing");
  EXPECT_TRUE(phases.empty());
  drain();
  EXPECT_FALSE(has_directory());
}

TEST_F(CodeRunsTest, ADirectoryThatCannotBeMadeIsAnError) {
  prepares = prints("", exited(1));
  const auto got = run_code(asked("python"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "code_not_prepared");
}

TEST_F(CodeRunsTest, FilesOfTheOutputDirectoryAreArtifactsWithinBounds) {
  runtime.box(id).fake_commands().program = [&](const CommandSpec& spec) {
    const FakeProgram program = program_of(spec);
    if (spec.argv.at(2).find("umask 077") != std::string::npos) return program;
    files().put(directory + "/output/plot.png", "png");
    files().put(directory + "/output/large", Bytes(code::kMostArtifactBytes + 1, 'x'));
    for (int i = 10; i < 50; ++i) files().put(directory + "/output/z" + std::to_string(i), "many");
    return program;
  };
  const auto got = run_code(asked("python"));
  ASSERT_TRUE(got);
  ASSERT_EQ(got->artifacts.size(), code::kMostArtifacts);
  EXPECT_EQ(got->artifacts[0].name, "plot.png");
  EXPECT_EQ(got->artifacts[0].mime, "image/png");
  EXPECT_EQ(got->artifacts[0].bytes, "png");
  ASSERT_EQ(got->notes.size(), 1U);
  EXPECT_EQ(got->notes[0].find("10 more files in $CAY_OUTPUT_DIR are left out"), 0U)
      << got->notes[0];
}

TEST_F(CodeRunsTest, ACallerThatGoesAwayEndsTheProgramAndItsFiles) {
  ends = {FakeProgram{}};  // runs on
  const auto started = begin(core->code().run(alice, "box", asked("python")));
  drain();
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_TRUE(has_directory());
  started->cancel();
  drain();
  EXPECT_TRUE(started->done());
  EXPECT_FALSE(has_directory());
  const auto& commands = runtime.box(id).fake_commands().table;
  for (const auto& [name, command] : commands)
    EXPECT_NE(command.state.end.state, CommandState::kRunning);
}

TEST_F(CodeRunsTest, ASandboxOfOneRunIsGoneAfterIt) {
  const auto once = [&](code::RunRequest request) {
    return run(core->code().run_once(alice, named("once"), {}, std::move(request)));
  };
  ends = {prints("4", exited(0))};
  auto got = once(asked("python"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->output.out, "4");
  EXPECT_EQ(store.rows.size(), 1U) << "the box alone";
  prepares = prints("missing g++\n", exited(0));
  got = once(asked("cpp"));
  EXPECT_EQ(got.error().reason, "toolchain_missing");
  drain();
  EXPECT_EQ(store.rows.size(), 1U);
  EXPECT_EQ(once(asked("cobol")).error().reason, "unknown_language");
  EXPECT_EQ(runtime.alive.size(), 1U);
}

}  // namespace
}  // namespace cay::core
