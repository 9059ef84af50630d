// Builds of Dockerfiles over the fakes: what each instruction does to the layers, what is built
// again, and what is left after a failure.
#include "core/builds.h"

#include "async/bytes.h"
#include "core/core_fixture.h"

namespace cay::core {
namespace {

using testing::FakeImages;
using testing::FakeProgram;

std::vector<LayerEvent> files_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<LayerEvent> out;
  for (const auto& [path, content] : files) {
    LayerEntry entry;
    entry.path = path;
    entry.size = content.size();
    entry.mode = 0644;
    entry.uid = 1000;
    out.emplace_back(entry);
    if (!content.empty()) out.emplace_back(Bytes(content));
  }
  return out;
}

class BuildsTest : public CoreTest {
 protected:
  BuildsTest() {
    images.images["base:1"] =
        FakeImages::image_of({{"bin/sh", "shell"}, {"etc/passwd", "app:x:7:8::/:/bin/sh\n"}});
    images.images["base:1"].facts.config.run.env = {{"PATH", "/bin"}};
    images.images["base:1"].facts.config.command = {"old"};
    runtime.can = {};
    runtime.program = [this](const CommandSpec& spec) {
      commands.push_back(spec);
      return program(spec);
    };
  }
  Result<SnapshotInfo> begin_build(const std::string& dockerfile, BuildRequest request = {}) {
    request.dockerfile = dockerfile;
    NewSnapshot made;
    made.name = "app";
    if (context.empty()) {
      return run(core->builds().build(alice, made, std::move(request), nullptr));
    }
    FakeImages::Image archive;
    archive.layers = {files_of(context)};
    archive.facts.layers = {{"sha256:context", 1}};
    images.archive = archive;
    return run(core->builds().build(alice, made, std::move(request), source_of(Bytes("a tar"))));
  }
  SnapshotInfo built(const std::string& dockerfile, BuildRequest request = {}) {
    const auto begun = begin_build(dockerfile, std::move(request));
    EXPECT_TRUE(begun) << begun.error().message;
    if (!begun) return {};
    EXPECT_EQ(begun->status, kSnapshotBuilding);
    drain();
    const auto row = run(core->snapshots().get(alice, begun->id.get()));
    EXPECT_TRUE(row) << row.error().message;
    return row ? *row : SnapshotInfo{};
  }
  std::string log_of(const SnapshotInfo& row) {
    const auto log = run(core->builds().log(alice, row.id.get(), 0, std::chrono::milliseconds(0)));
    EXPECT_TRUE(log) << log.error().message;
    return log ? log->text : std::string();
  }
  // The paths of a layer, with owners of what is not root's.
  std::vector<std::string> paths(const LayerId& layer) {
    std::vector<std::string> out;
    for (const LayerEvent& event : runtime.fake_layers.sealed[layer].entries) {
      const auto* entry = std::get_if<LayerEntry>(&event);
      if (entry == nullptr) continue;
      const std::string owner = std::to_string(entry->uid) + ":" + std::to_string(entry->gid);
      out.push_back(entry->path + (owner == "0:0" ? "" : " " + owner));
    }
    return out;
  }
  void expect_only(const std::vector<SnapshotInfo>& rows) {
    std::set<LayerId> wanted;
    for (const SnapshotInfo& row : rows) {
      if (row.layer.get().empty()) continue;
      wanted.insert(row.layer);
      const auto& below = runtime.fake_layers.sealed[row.layer].layer.below;
      wanted.insert(below.begin(), below.end());
    }
    for (const auto& [id, layer] : runtime.fake_layers.sealed)
      EXPECT_TRUE(wanted.contains(id)) << id.get();
    EXPECT_TRUE(runtime.alive.empty());
    EXPECT_TRUE(runtime.disks.empty());
  }

  std::vector<std::pair<std::string, std::string>> context;
  std::vector<CommandSpec> commands;
  std::function<FakeProgram(const CommandSpec&)> program = [](const CommandSpec&) {
    FakeProgram out;
    out.end = testing::exited(0);
    return out;
  };
};

TEST_F(BuildsTest, EachInstructionBecomesALayerOrAPartOfTheConfiguration) {
  ASSERT_TRUE(open());
  context = {{"app/main.py", "print()"}, {"app/lib/x.py", ""}, {"notes", "n"}};
  const SnapshotInfo row = built(
      "FROM base:1\nENV A=1\nWORKDIR /srv\nCOPY --chown=app app .\nRUN make \"$A\"\n"
      "USER app\nCMD [\"serve\"]\nLABEL k=v\n");
  ASSERT_EQ(row.status, kSnapshotReady) << row.status_message;
  EXPECT_EQ(row.origin, kFromBuild);
  EXPECT_EQ(row.tags, std::vector<std::string>{"latest"});
  EXPECT_EQ(row.config.run.env, (std::map<std::string, std::string>{{"A", "1"}, {"PATH", "/bin"}}));
  EXPECT_EQ(row.config.run.workdir, "/srv");
  EXPECT_EQ(row.config.run.user, "app");
  EXPECT_EQ(row.config.command, std::vector<std::string>{"serve"});
  EXPECT_EQ(row.config.labels.at("k"), "v");
  const auto& below = runtime.fake_layers.sealed[row.layer].layer.below;
  ASSERT_EQ(below.size(), 3U);  // the files, and two of the image
  EXPECT_EQ(paths(below[0]),
            (std::vector<std::string>{"srv", "srv/main.py 7:8", "srv/lib/x.py 7:8"}));
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].argv, (std::vector<std::string>{"/bin/sh", "-c", "make \"$A\""}));
  EXPECT_EQ(commands[0].run.workdir, "/srv");
  EXPECT_EQ(commands[0].run.env.at("A"), "1");
  EXPECT_EQ(images.kinds, std::vector<ArchiveKind>{ArchiveKind::kRoot});
  const auto base = run(core->snapshots().get(alice, "base:1"));
  ASSERT_TRUE(base) << base.error().message;
  EXPECT_NE(log_of(row).find("[line 5] RUN make"), std::string::npos);
  drain();
  expect_only({row, *base});
}

TEST_F(BuildsTest, WhatWasBuiltFromTheSameIsNotBuiltAgain) {
  ASSERT_TRUE(open());
  context = {{"a", "1"}, {"b", "2"}};
  const std::string text = "FROM base:1\nCOPY a /a\nRUN one\nCOPY b /b\n";
  const SnapshotInfo first = built(text);
  ASSERT_EQ(first.status, kSnapshotReady) << first.status_message;
  EXPECT_EQ(built(text).layer, first.layer);
  EXPECT_EQ(commands.size(), 1U);
  context[1].second = "3";
  const SnapshotInfo changed = built(text);
  EXPECT_NE(changed.layer, first.layer);
  EXPECT_EQ(commands.size(), 1U);
  context[0].second = "4";
  EXPECT_EQ(built(text).status, kSnapshotReady);
  EXPECT_EQ(commands.size(), 2U);
  BuildRequest anew;
  anew.no_cache = true;
  const SnapshotInfo last = built(text, anew);
  EXPECT_EQ(commands.size(), 3U);
  EXPECT_EQ(built(text).layer, last.layer);  // the newest counts from then on
  EXPECT_EQ(images.pulls.size(), 1U);
}

TEST_F(BuildsTest, LayersOfBuildsAreKeptForAWeek) {
  ASSERT_TRUE(open());
  const std::string text = "FROM base:1\nRUN one\n";
  const SnapshotInfo first = built(text);
  ASSERT_TRUE(run(core->snapshots().remove(alice, first.id.get())));
  drain();
  EXPECT_TRUE(runtime.fake_layers.sealed.contains(first.layer));
  EXPECT_EQ(built(text).layer, first.layer);
  ASSERT_TRUE(run(core->snapshots().remove(alice, "app")));
  clock.advance(std::chrono::hours(24 * 8));
  ASSERT_TRUE(run(core->snapshots().remove(alice, "base:1")));
  drain();
  EXPECT_FALSE(runtime.fake_layers.sealed.contains(first.layer));
}

TEST_F(BuildsTest, AStepThatFailsNamesItsLineAndShowsItsLastWords) {
  ASSERT_TRUE(open());
  program = [](const CommandSpec&) {
    FakeProgram out;
    out.output = {{Stream::kStdout, "looking\n"}, {Stream::kStderr, "no such package\n"}};
    out.end = testing::exited(3);
    return out;
  };
  const SnapshotInfo row = built("FROM base:1\n\nRUN pip install x\n");
  EXPECT_EQ(row.status, kSnapshotFailed);
  EXPECT_EQ(row.status_message, "line 3: RUN pip install x: exit code 3\nlooking\nno such package");
  const auto end = run(core->builds().log(alice, row.id.get(), 0, std::chrono::milliseconds(0)));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->reason, "build_failed");
  EXPECT_NE(log_of(row).find("no such package\n"), std::string::npos);
  const auto base = run(core->snapshots().get(alice, "base:1"));
  drain();
  expect_only({*base});
}

TEST_F(BuildsTest, AStepThatCayLostIsNotToldAsTheUsers) {
  ASSERT_TRUE(open());
  program = [](const CommandSpec&) {
    FakeProgram out;
    out.end = testing::ended(CommandState::kLost);
    out.end->reason = "keeper lost";
    return out;
  };
  const SnapshotInfo row = built("FROM base:1\nRUN true\n");
  EXPECT_EQ(row.status, kSnapshotFailed);
  EXPECT_EQ(row.status_message, "line 2: RUN true was lost: keeper lost");
}

TEST_F(BuildsTest, AWrongDockerfileIsRefusedAtOnce) {
  ASSERT_TRUE(open());
  EXPECT_EQ(begin_build("RUN true\n").error().reason, "invalid_dockerfile");
  EXPECT_EQ(begin_build("FROM base:1\nONBUILD RUN true\n").error().reason,
            "dockerfile_unsupported");
  BuildRequest other;
  other.platform = "linux/s390x";
  EXPECT_EQ(begin_build("FROM base:1\n", other).error().reason, "dockerfile_unsupported");
  other.platform.clear();
  other.policy = "no such policy";
  EXPECT_EQ(begin_build("FROM base:1\n", other).error().reason, "invalid_policy");
  const SnapshotInfo row = built("FROM base:1\nADD https://a.test/x /x\n");
  EXPECT_TRUE(row.status_message.starts_with("line 2: ADD of https://a.test/x is not supported"));
}

TEST_F(BuildsTest, ASecretIsInNoLayerLogKeyOrRow) {
  ASSERT_TRUE(open());
  const std::string canary = "canary-7f3a";
  BuildRequest request;
  request.secrets = {{"token", canary}};
  std::string seen;
  program = [&](const CommandSpec& spec) {
    const auto live = runtime.alive.rbegin()->second;
    for (const auto& [id, box] : runtime.alive) {
      if (const auto bytes = box->fake_files().bytes_of("/run/secrets/token")) seen = *bytes;
    }
    seen += spec.run.env.contains("TOKEN") ? "+" + spec.run.env.at("TOKEN") : "";
    FakeProgram out;
    out.output = {{Stream::kStdout, "the token is canary-"}, {Stream::kStdout, "7f3a.\n"}};
    out.end = testing::exited(1);
    return out;
  };
  const SnapshotInfo row = built(
      "FROM base:1\nRUN --mount=type=secret,id=token --mount=type=secret,id=token,env=TOKEN x\n",
      request);
  EXPECT_EQ(seen, canary + "+" + canary);
  EXPECT_EQ(row.status, kSnapshotFailed);
  EXPECT_NE(row.status_message.find("the token is ***."), std::string::npos) << row.status_message;
  EXPECT_EQ(row.status_message.find(canary), std::string::npos);
  EXPECT_EQ(log_of(row).find(canary), std::string::npos);
  for (const auto& [id, layer] : runtime.fake_layers.sealed) {
    for (const LayerEvent& event : layer.entries) {
      if (const auto* bytes = std::get_if<Bytes>(&event))
        EXPECT_EQ(bytes->find(canary), std::string::npos);
    }
  }
  const auto missing = built("FROM base:1\nRUN --mount=type=secret,id=token,required y\n");
  EXPECT_EQ(missing.status_message, "line 2: the secret 'token' was not given");
}

TEST_F(BuildsTest, ASandboxesDockerfileReachesNoRegistryThatItsPolicyDoesNot) {
  ASSERT_TRUE(open());
  SandboxSpec spec = named("box");
  spec.policy = "off";
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, {})));
  const auto box = runtime.alive.begin()->second;
  box->directories["/ctx"] = files_of({{"a", "1"}});
  box->fake_files().put("/ctx/.dockerignore", "b\n");
  const auto from_box = [&](const std::string& text) {
    NewSnapshot made;
    made.name = "inner";
    BuildRequest request;
    request.dockerfile = text;
    const auto begun = run(core->builds().build_from_sandbox(alice, "box", "/ctx", made, request));
    EXPECT_TRUE(begun) << begun.error().message;
    drain();
    return *run(core->snapshots().get(alice, begun->id.get()));
  };
  images.images["r.test/base:1"] = images.images["base:1"];
  const auto refused = from_box("FROM r.test/base:1\nRUN true\n");
  EXPECT_EQ(refused.status, kSnapshotFailed);
  EXPECT_NE(refused.status_message.find("policy does not reach"), std::string::npos);
  EXPECT_TRUE(images.pulls.empty());
  // A registry that the tenant keeps, and Docker Hub, lead nowhere else.
  ASSERT_TRUE(run(core->image_registries().create(alice, {"mine", "r.test", "me", "pw"})));
  const auto kept = from_box("FROM r.test/base:1\n");
  EXPECT_EQ(kept.status, kSnapshotReady) << kept.status_message;
  ASSERT_EQ(images.pulls.size(), 1U);
  EXPECT_EQ(images.pulls.back().login, (RegistryLogin{"me", "pw", ""}));
  const auto hub = from_box("FROM base:1\n");
  EXPECT_EQ(hub.status, kSnapshotReady) << hub.status_message;
  EXPECT_EQ(images.pulls.back().login, RegistryLogin{});
  const auto scratch = from_box("FROM scratch\nCOPY a /a\n");
  EXPECT_EQ(scratch.status, kSnapshotReady) << scratch.status_message;
  EXPECT_EQ(paths(scratch.layer), std::vector<std::string>{"a"});
  EXPECT_EQ(scratch.source_sandbox, box->boot_spec.id);
}

TEST_F(BuildsTest, ABuildThatIsGivenUpLeavesNothing) {
  ASSERT_TRUE(open());
  program = [](const CommandSpec&) { return FakeProgram(); };  // runs on
  const auto begun = begin_build("FROM base:1\nRUN sleep\n");
  ASSERT_TRUE(begun) << begun.error().message;
  drain();
  EXPECT_EQ(run(core->snapshots().get(alice, "app"))->status_message, "RUN sleep");
  ASSERT_TRUE(run(core->snapshots().remove(alice, "app")));
  const auto base = run(core->snapshots().get(alice, "base:1"));
  drain();
  expect_only({*base});
  EXPECT_EQ(run(core->builds().log(alice, begun->id.get(), 0, std::chrono::milliseconds(0)))
                .error()
                .reason,
            "snapshot_not_found");
}

TEST_F(BuildsTest, StagesCopyFromEachOther) {
  ASSERT_TRUE(open());
  context = {{"main.c", "int"}};
  const SnapshotInfo row = built(
      "FROM base:1 AS build\nCOPY main.c /src/main.c\nFROM scratch\nCOPY --from=build "
      "/src/*.c /out/\n");
  ASSERT_EQ(row.status, kSnapshotReady) << row.status_message;
  EXPECT_EQ(paths(row.layer), (std::vector<std::string>{"out", "out/main.c"}));
  EXPECT_EQ(built("FROM base:1\nCOPY none /\n").status_message,
            "line 2: there is no file 'none' in the build's context");
  context.clear();
  EXPECT_EQ(built("FROM scratch\nCOPY . /\n").status_message,
            "line 2: there is no file '.' to copy: the build has no context");
}

TEST(BuildOutputTest, ItsFirstBytesGoAndSecretsAreReplaced) {
  asio::io_context loop;
  BuildOutput log(loop.get_executor(), {"abc", "abcd", ""});
  log.line("one");
  log.output("xab");
  EXPECT_EQ(log.text(0).text, "one\n");
  log.output("cdy");
  log.end_output();
  EXPECT_EQ(log.text(0).text, "one\nx***y");
  EXPECT_EQ(log.tail(), "x***y");
  log.line("two");
  EXPECT_EQ(log.text(4).text, "x***y\ntwo\n");
  log.output(std::string(std::size_t{5} << 20, 'z'));
  log.close();
  const auto text = log.text(0);
  EXPECT_GT(text.from, std::uint64_t{1} << 20);
  EXPECT_EQ(text.text.size(), std::size_t{256} << 10);
  BuildOutput characters(loop.get_executor(), {});
  characters.output("a\xc3");
  EXPECT_EQ(characters.text(0).text, "a");
  characters.output("\xa9");
  EXPECT_EQ(characters.text(0).text, "a\xc3\xa9");
}

TEST(BuildContextTest, PathsAreFoundThroughLinksAndByWildcards) {
  BuildContext context;
  const auto add = [&](const std::string& path, EntryKind kind, const std::string& target = {}) {
    LayerEntry entry;
    entry.path = path;
    entry.kind = kind;
    entry.target = target;
    entry.mode = 0644;
    ASSERT_TRUE(context.add(entry, "digest of " + path));
  };
  add("a/b.txt", EntryKind::kFile);
  add("a/c.txt", EntryKind::kFile);
  add("link", EntryKind::kSymlink, "a");
  add("out", EntryKind::kSymlink, "../../etc/passwd");
  add("loop", EntryKind::kSymlink, "loop");
  EXPECT_EQ(context.find("link/b.txt")->front().path, "a/b.txt");
  EXPECT_TRUE(context.find("link")->front().is_directory);
  EXPECT_EQ(context.find("a/*.txt")->size(), 2U);
  EXPECT_EQ(context.find("*.none")->size(), 0U);
  EXPECT_FALSE(context.find("out"));  // a link leads nowhere out of the context
  EXPECT_FALSE(context.find("loop"));
  EXPECT_TRUE(context.find(".")->front().is_directory);
  const auto before = *context.digest({"a"});
  EXPECT_EQ(before, *context.digest({"a"}));
  add("a/b.txt", EntryKind::kSymlink, "c.txt");
  EXPECT_NE(before, *context.digest({"a"}));
  LayerEntry gone;
  gone.kind = EntryKind::kGone;
  EXPECT_EQ(context.add(gone, {}).error().reason, "bad_context");
}

}  // namespace
}  // namespace cay::core
