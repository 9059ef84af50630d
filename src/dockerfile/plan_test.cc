#include "dockerfile/plan.h"

#include <gtest/gtest.h>

#include "dockerfile/paths.h"
#include "dockerfile/scope.h"

namespace cay::dockerfile {
namespace {

Dockerfile file_of(std::string_view text) {
  auto out = parse(text);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *std::move(out) : Dockerfile{};
}

std::string order(std::string_view text, const BuildOptions& options = {}) {
  const auto file = file_of(text);
  const auto out = plan(file, options);
  if (!out) return out.error().message;
  std::string order;
  for (const auto& one : out->stages) order += std::to_string(one.stage);
  return order;
}

TEST(PlanTest, OnlyTheStagesThatTheTargetNeeds) {
  constexpr std::string_view kText =
      "FROM a AS one\nFROM b AS two\nFROM one AS three\nRUN x\n"
      "FROM c\nCOPY --from=three /a /b\nFROM d AS last\nCOPY --from=3 /a /b\n";
  EXPECT_EQ(order(kText), "0234");
  EXPECT_EQ(order(kText, {.target = "two"}), "1");
  EXPECT_EQ(order(kText, {.target = "THREE"}), "02");
  EXPECT_EQ(order(kText, {.target = "3"}), "023");
  EXPECT_EQ(order(kText, {.target = "odd"}),
            "there is no stage odd to build. There are one, two, three, last");
}

TEST(PlanTest, StagesComeFromCopyMountAndFrom) {
  EXPECT_EQ(order("FROM a AS one\nFROM b\nRUN --mount=from=one,target=/x ls\n"), "01");
  EXPECT_EQ(order("FROM a\nCOPY --from=two /a /b\nFROM c AS two\n", {.target = "0"}), "10");
  EXPECT_EQ(order("FROM a\nCOPY --from=busybox /a /b\n"), "0");
  EXPECT_EQ(order("FROM a\nCOPY --from=7 /a /b\n"), "line 2: there is no stage 7: the first is 0");
}

TEST(PlanTest, CirclesAreRefused) {
  EXPECT_EQ(order("FROM a AS one\nCOPY --from=one /a /b\n"),
            "line 1: this stage and the one of line 1 need each other in a circle");
  EXPECT_EQ(order("FROM a AS one\nCOPY --from=two /a /b\nFROM one AS two\n"),
            "line 1: this stage and the one of line 3 need each other in a circle");
}

TEST(PlanTest, AStageNamesOnlyEarlierOnesInFrom) {
  const auto file = file_of("FROM two AS one\nFROM scratch AS two\nFROM one\n");
  const auto out = plan(file, {});
  ASSERT_TRUE(out);
  ASSERT_EQ(out->stages.size(), 2U);
  EXPECT_EQ(out->stages[0].base, (Source{Source::Kind::kImage, 0, "two"}));
  EXPECT_EQ(out->stages[1].base, (Source{Source::Kind::kStage, 0, ""}));
}

TEST(PlanTest, ArgumentsBeforeFromChooseTheImage) {
  constexpr std::string_view kText = "ARG V=3.11\nARG TAG=${V}-slim\nFROM python:$TAG\n";
  const auto image = [&](const BuildOptions& options) {
    const auto out = plan(file_of(kText), options);
    return out ? out->stages[0].base.image : out.error().message;
  };
  EXPECT_EQ(image({}), "python:3.11-slim");
  EXPECT_EQ(image({.arguments = {{"V", "3.12"}}}), "python:3.12-slim");
  EXPECT_EQ(image({.arguments = {{"TAG", "x"}}}), "python:x");
  EXPECT_EQ(order("ARG IMAGE\nFROM $IMAGE\n"),
            "line 2: '$IMAGE' is '', which is no image. Give its ARG a default, or --build-arg");
  EXPECT_EQ(order("ARG V\nFROM a:${V:?unset}\n"), "line 2: V: unset");
}

TEST(PlanTest, OnlyTheBuildersPlatform) {
  EXPECT_EQ(order("FROM --platform=linux/amd64 a"), "0");
  EXPECT_EQ(order("FROM --platform=$BUILDPLATFORM a"), "0");
  EXPECT_EQ(order("FROM --platform=linux/x86_64 a"), "0");
  EXPECT_EQ(order("FROM --platform=linux/arm64 a"),
            "line 1: FROM --platform=linux/arm64 is not supported: this is linux/amd64, and Cay"
            " emulates no other");
  EXPECT_EQ(order("FROM --platform=linux/arm64/v8 a", {.platform = "linux/arm64"}), "0");
  // A stage that nobody needs is not looked at.
  EXPECT_EQ(order("FROM --platform=linux/arm64 a\nFROM b"), "1");
}

TEST(PlanTest, UnusedBuildArgumentsAreTold) {
  const auto out = plan(file_of("FROM a\nARG USED\n"),
                        {.arguments = {{"USED", "1"}, {"OTHER", "2"}, {"http_proxy", "3"}}});
  ASSERT_TRUE(out);
  ASSERT_EQ(out->notes.size(), 1U);
  EXPECT_EQ(out->notes[0], "the build argument OTHER is not used: no ARG names it");
}

// Goes through the last stage of a file.
class ScopeTest : public ::testing::Test {
 protected:
  void build(std::string_view text, BuildOptions options = {}, ImageConfig base = {}) {
    file_ = file_of(text);
    options_ = std::move(options);
    auto planned = plan(file_, options_);
    ASSERT_TRUE(planned) << planned.error().message;
    plan_ = *std::move(planned);
    StageScope scope(file_, plan_, options_, std::move(base), {});
    steps_.clear();
    error_.clear();
    for (const auto& one : file_.stages.back().instructions) {
      auto step = scope.next(one);
      if (!step) {
        error_ = step.error().message;
        break;
      }
      if (!std::holds_alternative<std::monostate>(*step)) steps_.push_back(*std::move(step));
    }
    config_ = scope.config();
  }
  template <class What>
  const What& step(std::size_t at = 0) {
    static const What kNone{};
    const auto* out = at < steps_.size() ? std::get_if<What>(&steps_[at]) : nullptr;
    EXPECT_NE(out, nullptr);
    return out == nullptr ? kNone : *out;
  }

  Dockerfile file_;
  BuildOptions options_;
  BuildPlan plan_;
  std::vector<Step> steps_;
  StageConfig config_;
  std::string error_;
};

using Words = std::vector<std::string>;

TEST_F(ScopeTest, EnvironmentOfARun) {
  build("ARG G=global\nFROM a\nARG G\nARG A=1\nENV A=2 B=$A C=${G}\nARG D=d\nENV E=$D\nRUN x $A\n");
  const auto& run = step<RunStep>();
  EXPECT_EQ(run.argv, (Words{"/bin/sh", "-c", "x $A"}));
  EXPECT_EQ(run.env, (std::map<std::string, std::string>{{"A", "2"},
                                                         {"B", "1"},
                                                         {"C", "global"},
                                                         {"D", "d"},
                                                         {"E", "d"},
                                                         {"G", "global"},
                                                         {"PATH", std::string(kDefaultPath)}}));
  EXPECT_FALSE(config_.image.run.env.contains("D"));
  EXPECT_EQ(config_.image.run.env["E"], "d");
}

TEST_F(ScopeTest, AnArgumentOfTheFileIsNotSeenWithoutArg) {
  build("ARG G=global\nFROM a\nENV A=x$G\n");
  EXPECT_EQ(config_.image.run.env["A"], "x");
}

TEST_F(ScopeTest, BuildArgumentsReplaceDefaults) {
  build("FROM a\nARG A=1\nARG B\nENV X=$A-$B\n",
        {.arguments = {{"A", "5"}, {"B", "6"}, {"C", "7"}}});
  EXPECT_EQ(config_.image.run.env["X"], "5-6");
  EXPECT_FALSE(config_.image.run.env.contains("C"));
}

TEST_F(ScopeTest, EnvHidesAnArgument) {
  build("FROM a\nENV V=env\nARG V=arg\nRUN x\nENV W=$V\n", {.arguments = {{"V", "given"}}});
  EXPECT_EQ(step<RunStep>().env.at("V"), "env");
  EXPECT_EQ(config_.image.run.env["W"], "env");
}

TEST_F(ScopeTest, PlatformsAreKnownAfterTheirArg) {
  build(
      "FROM a\nENV A=$TARGETARCH\nARG TARGETARCH\nARG TARGETOS BUILDPLATFORM\n"
      "ENV B=$TARGETOS/$TARGETARCH C=$BUILDPLATFORM\n");
  EXPECT_EQ(config_.image.run.env["A"], "");
  EXPECT_EQ(config_.image.run.env["B"], "linux/amd64");
  EXPECT_EQ(config_.image.run.env["C"], "linux/amd64");
}

TEST_F(ScopeTest, ProxiesReachARunAndChangeNoKey) {
  build("FROM a\nRUN x\n");
  const auto key = key_after("k", steps_[0], {});
  build("FROM a\nRUN x\n", {.arguments = {{"HTTPS_PROXY", "http://p"}}});
  EXPECT_EQ(step<RunStep>().proxies.at("HTTPS_PROXY"), "http://p");
  EXPECT_FALSE(step<RunStep>().env.contains("HTTPS_PROXY"));
  EXPECT_EQ(key_after("k", steps_[0], {}), key);
}

TEST_F(ScopeTest, WorkdirUserAndShell) {
  build(
      "FROM a\nWORKDIR /a\nWORKDIR b/../c\nUSER $U\nWORKDIR d\nSHELL [\"/bin/bash\",\"-ec\"]\n"
      "RUN x\nRUN [\"y\"]\n",
      {}, {.run = {.user = "0", .workdir = "/w", .env = {{"U", "app"}}}});
  EXPECT_EQ(step<DirectoryStep>(0).path, "/a");
  EXPECT_EQ(step<DirectoryStep>(1).path, "/a/c");
  EXPECT_EQ(step<DirectoryStep>(1).user, "0");
  EXPECT_EQ(step<DirectoryStep>(2).path, "/a/c/d");
  EXPECT_EQ(step<DirectoryStep>(2).user, "app");
  EXPECT_EQ(step<RunStep>(3).argv, (Words{"/bin/bash", "-ec", "x"}));
  EXPECT_EQ(step<RunStep>(3).workdir, "/a/c/d");
  EXPECT_EQ(step<RunStep>(3).user, "app");
  EXPECT_EQ(step<RunStep>(4).argv, Words{"y"});
}

TEST_F(ScopeTest, EntrypointRemovesTheCommandOfTheImage) {
  ImageConfig base;
  base.command = {"old"};
  build("FROM a\nENTRYPOINT [\"e\"]\n", {}, base);
  EXPECT_EQ(config_.image.command, Words{});
  EXPECT_EQ(config_.image.entrypoint, Words{"e"});
  build("FROM a\nCMD new $X\nENTRYPOINT e\n", {}, base);
  EXPECT_EQ(config_.image.command, (Words{"/bin/sh", "-c", "new $X"}));
  EXPECT_EQ(config_.image.entrypoint, (Words{"/bin/sh", "-c", "e"}));
  build("FROM a\nUSER u\n", {}, base);
  EXPECT_EQ(config_.image.command, Words{"old"});
}

TEST_F(ScopeTest, LabelsAndPorts) {
  build(
      "FROM a\nARG V=1\nLABEL a.version=\"$V\" b='$V'\nENV P=\"90 91\"\n"
      "EXPOSE 80 443/TCP 53/udp 8000-8002 $P 80\n");
  EXPECT_EQ(config_.image.labels,
            (std::map<std::string, std::string>{{"a.version", "1"}, {"b", "$V"}}));
  EXPECT_EQ(config_.image.ports, (Words{"443/tcp", "53/udp", "80/tcp", "8000/tcp", "8001/tcp",
                                        "8002/tcp", "90/tcp", "91/tcp"}));
  build("FROM a\nEXPOSE 70000\n");
  EXPECT_EQ(error_, "line 2: '70000' is no port: write 80, 53/udp or 8000-8010");
  build("FROM a\nEXPOSE 1-65535\n");
  EXPECT_EQ(config_.image.ports.size(), 65535U);
  build("FROM a\nEXPOSE 1-65535\nEXPOSE 80\n");
  EXPECT_EQ(error_, "line 3: EXPOSE names more than 65535 ports");
}

TEST_F(ScopeTest, CopiesAreRelativeToRootAndWorkdir) {
  build(
      "FROM a\nENV D=dist\nWORKDIR /app\nCOPY ./$D/../x /etc/../y ../../z ./\n"
      "COPY --from=img --chown=$D:1 --chmod=0644 a b\nADD $D.tar.gz /\nCOPY . .\n");
  const auto& copy = step<CopyStep>(1);
  EXPECT_EQ(copy.from.kind, Source::Kind::kContext);
  EXPECT_EQ(copy.paths, (Words{"x", "y", "z"}));
  EXPECT_EQ(copy.target, "/app");
  EXPECT_TRUE(copy.into_directory);
  EXPECT_FALSE(copy.unpack);
  const auto& other = step<CopyStep>(2);
  EXPECT_EQ(other.from, (Source{Source::Kind::kImage, 0, "img"}));
  EXPECT_EQ(other.target, "/app/b");
  EXPECT_FALSE(other.into_directory);
  EXPECT_EQ(other.chown, "dist:1");
  EXPECT_EQ(other.chmod, 0644U);
  EXPECT_TRUE(step<CopyStep>(3).unpack);
  EXPECT_EQ(step<CopyStep>(4).paths, Words{"."});
  build("FROM a\nCOPY --chmod=u+x a b\n");
  EXPECT_EQ(error_, "line 2: --chmod takes a number such as 755, not u+x");
  build("FROM a\nCOPY $NOT b\n");
  EXPECT_EQ(error_, "line 2: a source is empty: $NOT");
}

TEST_F(ScopeTest, AddOfAUrlIsRefusedAlsoFromAVariable) {
  for (const std::string_view source :
       {"https://x.test/a", "HTTP://x.test/a", "$U", "git@github.com:a/b.git"}) {
    build("FROM a\nENV U=https://x.test/a\nADD " + std::string(source) + " /b\n");
    EXPECT_TRUE(error_.starts_with("line 3: ADD of ")) << source << ": " << error_;
  }
  build("FROM a\nADD a.tar /b\n");
  EXPECT_EQ(error_, "");
}

TEST_F(ScopeTest, HeredocsBecomeFilesAndScripts) {
  build(
      "FROM a\nENV A=1\nCOPY <<x.conf <<'y' /etc/\na=$A \"q\"\nx.conf\n$A\ny\n"
      "RUN <<EOF\necho $A\nEOF\nRUN <<-EOF\n\t#!/usr/bin/env python3\n\tprint(1)\nEOF\n"
      "RUN cat <<-EOF | sh\n\tls\n\tEOF\n");
  const auto& copy = step<CopyStep>(0);
  ASSERT_EQ(copy.files.size(), 2U);
  EXPECT_EQ(copy.files[0], (Heredoc{"x.conf", "a=1 \"q\"\n"}));
  EXPECT_EQ(copy.files[1], (Heredoc{"y", "$A\n"}));
  EXPECT_TRUE(contents_of(steps_[0]).empty());
  EXPECT_EQ(step<RunStep>(1).argv, (Words{"/bin/sh", "-c", "echo $A\n"}));
  EXPECT_EQ(step<RunStep>(2).script, "#!/usr/bin/env python3\nprint(1)\n");
  EXPECT_EQ(step<RunStep>(2).argv, Words{"EOF"});
  EXPECT_EQ(step<RunStep>(3).argv, (Words{"/bin/sh", "-c", "cat <<-EOF | sh\n\tls\nEOF"}));
}

TEST_F(ScopeTest, MountsAreSeenFromTheWorkdir) {
  build(
      "FROM b AS one\nFROM a\nARG T=cache\nWORKDIR /w\n"
      "RUN --mount=type=cache,target=$T --mount=from=one,source=/s,target=/t --mount=target=. x\n");
  const auto& run = step<RunStep>(1);
  ASSERT_EQ(run.mounts.size(), 3U);
  EXPECT_EQ(run.mounts[0].target, "/w/cache");
  EXPECT_EQ(run.sources[0].kind, Source::Kind::kNothing);
  EXPECT_EQ(run.sources[1], (Source{Source::Kind::kStage, 0, ""}));
  EXPECT_EQ(run.mounts[2].target, "/w");
  EXPECT_EQ(run.sources[2].kind, Source::Kind::kContext);
  const auto contents = contents_of(steps_[1]);
  ASSERT_EQ(contents.size(), 2U);
  EXPECT_EQ(contents[0].paths, Words{"s"});
  EXPECT_EQ(contents[1].paths, Words{"."});
  build("FROM a\nRUN --mount=type=tmpfs,target=/ x\n");
  EXPECT_EQ(error_, "line 2: --mount cannot cover /");
}

TEST_F(ScopeTest, AKeyDependsOnAllThatAStepIs) {
  const auto key = [this](std::string_view text, std::string_view below = "k",
                          const Words& digests = {"d"}, const BuildOptions& options = {}) {
    build(text, options);
    return steps_.empty() ? error_ : key_after(below, steps_.back(), digests);
  };
  const auto run = key("FROM a\nRUN x\n", "k", {});
  EXPECT_EQ(run.size(), 64U);
  EXPECT_EQ(key("FROM a\n# note\nLABEL a=b\nEXPOSE 80\nCMD y\nRUN x\n", "k", {}), run);
  EXPECT_NE(key("FROM a\nRUN x\n", "other", {}), run);
  EXPECT_NE(key("FROM a\nRUN y\n", "k", {}), run);
  EXPECT_NE(key("FROM a\nENV A=1\nRUN x\n", "k", {}), run);
  EXPECT_NE(key("FROM a\nUSER u\nRUN x\n", "k", {}), run);
  EXPECT_NE(key("FROM a\nWORKDIR /w\nRUN x\n", "k", {}), run);
  EXPECT_NE(key("FROM a\nSHELL [\"b\"]\nRUN x\n", "k", {}), run);
  EXPECT_NE(key("FROM a\nRUN --mount=type=tmpfs,target=/t x\n", "k", {}), run);
  EXPECT_NE(key("FROM a\nARG A\nRUN x\n", "k", {}, {.arguments = {{"A", "1"}}}), run);
  const auto copy = key("FROM a\nCOPY a b\n");
  EXPECT_NE(key("FROM a\nCOPY a b\n", "k", {"e"}), copy);
  EXPECT_NE(key("FROM a\nCOPY a b/\n"), copy);
  EXPECT_NE(key("FROM a\nADD a b\n"), copy);
  EXPECT_NE(key("FROM a\nCOPY --chown=1 a b\n"), copy);
  EXPECT_NE(key("FROM a\nCOPY --chmod=0 a b\n"), copy);
  EXPECT_EQ(key("FROM a\nARG X=a\nCOPY $X b\n"), copy);
}

TEST_F(ScopeTest, VariablesDoNotGrowWithoutALimit) {
  std::string text = "FROM a\nENV A=0123456789abcdef\n";
  for (int i = 0; i < 40; ++i) text += "ENV A=$A$A\n";
  build(text);
  EXPECT_EQ(error_, "line 16: a value is longer than 131072 bytes");
  text = "FROM a\nENV A=" + std::string(100000, 'x') + "\n";
  for (int i = 0; i < 40; ++i) text += "ENV A" + std::to_string(i) + "=$A\n";
  build(text);
  EXPECT_EQ(error_, "line 12: variables and labels have more than 1 MiB");
}

TEST(PathsTest, CleanAsGoDoes) {
  for (const auto& [path, expected] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{{"", "."},
                                                                            {"/", "/"},
                                                                            {"/..", "/"},
                                                                            {"a//b/", "a/b"},
                                                                            {"./a", "a"},
                                                                            {"a/..", "."},
                                                                            {"../a", "../a"},
                                                                            {"a/../../b", "../b"},
                                                                            {"/a/../../b", "/b"}}) {
    EXPECT_EQ(clean_path(path), expected) << path;
  }
  EXPECT_EQ(absolute_path("/a", "b"), "/a/b");
  EXPECT_EQ(absolute_path("/a", "/b/"), "/b");
  EXPECT_EQ(path_below_root("../../etc"), "etc");
  EXPECT_EQ(path_below_root("/"), ".");
}

}  // namespace
}  // namespace cay::dockerfile
