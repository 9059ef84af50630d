#include "dockerfile/build.h"

#include <gtest/gtest.h>

#include "dockerfile/testing/fake_host.h"

namespace cay::dockerfile {
namespace {

using Log = std::vector<std::string>;

Result<Finished> build(FakeHost& host, std::string_view text, const BuildOptions& options = {}) {
  CAY_TRY(Dockerfile file, parse(text));
  CAY_TRY(Build one, Build::create(std::move(file), options));
  return host.run(one);
}

TEST(BuildTest, EachStepIsALayerAndASandbox) {
  FakeHost host;
  host.images["python:3.11"].run.env["PATH"] = "/p";
  const auto out = build(host, "FROM python:3.11\nWORKDIR /app\nCOPY . .\nRUN make\nCMD [\"x\"]\n");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(host.log, (Log{"resolve python:3.11", "start L-python:3.11", "mkdir /app",
                           "copy :., /app", "seal L0", "discard", "start L0",
                           "run /bin/sh -c make as  in /app", "seal L1", "discard"}));
  EXPECT_EQ(out->layer.get(), "L1");
  EXPECT_EQ(out->config.command, Log{"x"});
  EXPECT_EQ(out->config.run.workdir, "/app");
  EXPECT_EQ(out->config.run.env.at("PATH"), "/p");
}

TEST(BuildTest, LayersWithTheSameKeyAreNotBuiltAgain) {
  constexpr std::string_view kText = "FROM a\nRUN one\nCOPY x /\nRUN two\n";
  FakeHost host;
  ASSERT_TRUE(build(host, kText));
  const auto again = build(host, kText);
  ASSERT_TRUE(again);
  EXPECT_EQ(host.log, (Log{"resolve a", "have L0", "have L1", "have L2"}));
  EXPECT_EQ(again->layer.get(), "L2");
  host.context["x"] = "changed";
  ASSERT_TRUE(build(host, kText));
  EXPECT_EQ(host.log, (Log{"resolve a", "have L0", "start L0", "copy :x, /", "seal L3", "discard",
                           "start L3", "run /bin/sh -c two as  in /", "seal L4", "discard"}));
}

TEST(BuildTest, StagesGiveFilesAndMounts) {
  FakeHost host;
  const auto out = build(host,
                         "FROM go AS build\nRUN go build\nFROM unused\nRUN no\nFROM scratch\n"
                         "COPY --from=build /out /\nCOPY --from=busybox /bin/sh /\n"
                         "RUN --mount=from=build,target=/src --mount=type=cache,target=/c x\n");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(host.log,
            (Log{"resolve go", "start L-go", "run /bin/sh -c go build as  in /", "seal L0",
                 "discard", "start ", "copy L0:out, /", "seal L1", "discard", "resolve busybox",
                 "start L1", "copy L-busybox:bin/sh, /", "seal L2", "discard", "start L2",
                 "run /bin/sh -c x with L0 with  as  in /", "seal L3", "discard"}));
}

TEST(BuildTest, AStageGoesOnFromAnother) {
  FakeHost host;
  const auto out = build(host,
                         "FROM a AS base\nARG V=1\nSHELL [\"bash\",\"-c\"]\nENV E=$V\nRUN one\n"
                         "FROM base\nRUN two $V\nLABEL v=$V\n");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(host.log[5], "start L0");
  EXPECT_EQ(host.log[6], "run bash -c two $V as  in /");
  EXPECT_EQ(out->config.labels.at("v"), "1");
}

TEST(BuildTest, AFailedCommandHasItsLineAndLeavesNoSandbox) {
  FakeHost host;
  host.failing = "make  all";
  const auto out = build(host, "FROM a\nRUN one\n\nRUN make \\\n all\nRUN two\n");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().reason, "build_failed");
  EXPECT_EQ(out.error().message, "line 4: RUN make  all: exit code 1");
  EXPECT_EQ(host.log.back(), "discard");
  EXPECT_FALSE(host.open);
  EXPECT_EQ(host.layers.size(), 1U);
}

TEST(BuildTest, AnErrorOfTheHostEndsTheBuild) {
  FakeHost host;
  host.unreachable = "img";
  auto out = build(host, "FROM a\nRUN one\nCOPY --from=img /x /\n");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::kUnavailable);
  EXPECT_EQ(out.error().message, "line 3: no registry");
  EXPECT_FALSE(host.open);
  out = build(host, "FROM img\n");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "no registry");
}

TEST(BuildTest, AnInstructionThatIsWrongEndsTheBuild) {
  FakeHost host;
  const auto out = build(host, "FROM a\nRUN one\nUSER ${X?no user}\n");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message, "line 3: X: no user");
  EXPECT_FALSE(host.open);
}

TEST(BuildTest, ADirectoryAtTheEndIsALayer) {
  FakeHost host;
  const auto out = build(host, "FROM a\nWORKDIR /x\nWORKDIR y\n");
  ASSERT_TRUE(out);
  EXPECT_EQ(host.log,
            (Log{"resolve a", "start L-a", "mkdir /x", "mkdir /x/y", "seal L0", "discard"}));
  ASSERT_TRUE(build(host, "FROM a\nENV A=b\n"));
  EXPECT_EQ(host.log, Log{"resolve a"});
}

TEST(BuildTest, NotesComeFromTheFileAndThePlan) {
  auto file = parse("FROM a\nVOLUME /x\n");
  ASSERT_TRUE(file);
  const auto one = Build::create(*std::move(file), {.arguments = {{"A", "b"}}});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->notes().size(), 2U);
}

}  // namespace
}  // namespace cay::dockerfile
