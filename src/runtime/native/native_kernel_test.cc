// NativeRuntime with the real launcher, keepers and kernel: root only, skipped loudly otherwise.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "async/deadline.h"
#include "async/scope.h"
#include "async/testing.h"
#include "model/ids.h"
#include "runtime/native/native_runtime.h"
#include "runtime/keeper/testing/conformance.h"
#include "runtime/native/testing/real_launcher.h"

namespace cay::runtime::testing {
namespace {

class NativeTest : public ::testing::Test {
 protected:
  // One for all stories.
  static inline std::unique_ptr<RealLauncher> launcher_;
  asio::io_context loop_;
  std::unique_ptr<NativeRuntime> runtime_;
  std::vector<std::string> deaths_;
  std::unique_ptr<Event> died_ = std::make_unique<Event>(loop_.get_executor());

  void SetUp() override {
    if (::geteuid() != 0)
      GTEST_SKIP() << "SKIPPED: needs root (it makes namespaces, mounts and cgroups)";
    if (!launcher_) launcher_ = std::make_unique<RealLauncher>();
    new_daemon();
  }
  static void TearDownTestSuite() { launcher_.reset(); }
  void TearDown() override {
    if (!runtime_) return;
    auto all = [this]() -> asio::awaitable<void> {
      std::vector<SandboxId> none;
      auto removed = co_await runtime_->adopt(std::move(none));
      EXPECT_TRUE(removed);
    };
    cay::testing::run<void>(loop_, all());
    runtime_.reset();
    loop_.restart();
    loop_.poll();
  }

  // A daemon that starts anew: the connections of the old one are gone.
  void new_daemon(bool watched = true) {
    runtime_.reset();
    const NativeConfig config{.data = launcher_->data,
                              .instance = launcher_->instance,
                              .build = "test",
                              .launcher_limit = Millis{20'000}};
    runtime_ = std::make_unique<NativeRuntime>(loop_.get_executor(), config);
    if (watched) watch();
  }
  void watch() {
    runtime_->watch([this](core::SandboxDeath death) {
      deaths_.push_back(death.reason);
      died_->set();
    });
  }
  template <class Body>
  void play(Body body) {
    cay::testing::run<void>(loop_, body());
  }
  core::BootSpec spec(const SandboxId& id) const {
    core::BootSpec boot;
    boot.id = id;
    boot.hostname = "box";
    boot.layer = LayerId(RealLauncher::kSnapshot);
    boot.limits = {
        .cpu_millicores = 1000, .memory_bytes = 256u << 20, .disk_bytes = 64u << 20, .pids = 256};
    return boot;
  }
  static CommandSpec shell(std::string id, std::string script) {
    CommandSpec command;
    command.id = CommandId(std::move(id));
    command.argv = {"sh", "-c", std::move(script)};
    return command;
  }
  static Task<Seen> run_in(core::LiveSandbox& box, CommandSpec command) {
    const CommandId id = command.id;
    CAY_CO_TRY(const auto started, co_await box.start(std::move(command)));
    CAY_CO_TRY(auto reader, co_await box.attach(id, {}));
    auto seen = co_await drain(*reader);
    co_return seen;
  }
};

TEST_F(NativeTest, BootRunStopReadBootAgainDestroy) {
  const SandboxId id(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    auto box = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(box) << box.error().message;
    if (!box) co_return;
    auto seen = co_await run_in(**box, shell("a", "echo made > /root/kept; hostname; exit 7"));
    EXPECT_TRUE(seen && seen->end) << seen.error().message;
    if (!seen || !seen->end) co_return;
    EXPECT_EQ(seen->out, "box\n") << seen->err;
    EXPECT_EQ(seen->end->end.exit_code, 7);
    auto info = co_await (*box)->stat("/root/kept", {}, true);
    EXPECT_TRUE(info && info->size == 5);
    auto running = co_await (*box)->start(shell("b", "echo begun; sleep 600"));
    EXPECT_TRUE(running);
    auto stopped = co_await runtime_->stop(id);
    EXPECT_TRUE(stopped) << stopped.error().message;
    deaths_.clear();  // on a busy host the launcher sees the end before the stop, which then counts
                      // as the stop's
    auto after_that = co_await (*box)->stats();
    EXPECT_FALSE(after_that);
    EXPECT_EQ(after_that.error().code, Code::kLost);
    auto again = co_await runtime_->stop(id);
    EXPECT_TRUE(again);

    auto kept = co_await runtime_->stopped_commands(id);
    EXPECT_TRUE(kept && kept->size() == 2u);
    CommandId b("b");
    auto reader = co_await runtime_->stopped_reader(id, b, {});
    EXPECT_TRUE(reader) << reader.error().message;
    if (!reader) co_return;
    auto old = co_await drain(**reader);
    EXPECT_TRUE(old.end && old.end->end.state == CommandState::kKilled);
    if (old.end) EXPECT_EQ(old.end->end.by, "sandbox stop");

    auto second = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(second) << second.error().message;
    if (!second) co_return;
    auto back = co_await run_in(**second, shell("c", "cat /root/kept"));
    EXPECT_TRUE(back && back->out == "made\n");
    auto gone = co_await runtime_->destroy(id);
    EXPECT_TRUE(gone) << gone.error().message;
    auto twice = co_await runtime_->destroy(id);
    EXPECT_TRUE(twice);
  });
  EXPECT_TRUE(deaths_.empty()) << deaths_.front();
  EXPECT_FALSE(std::filesystem::exists(launcher_->data + "/spool/" + id.get()));
}

// A source of prepared events.
class PreparedLayer final : public core::LayerSource {
 public:
  explicit PreparedLayer(std::vector<core::LayerEvent> events) : events_(std::move(events)) {}
  Task<std::optional<core::LayerEvent>> next() override {
    if (at_ == events_.size()) co_return std::optional<core::LayerEvent>();
    co_return std::optional<core::LayerEvent>(events_[at_++]);
  }

 private:
  std::vector<core::LayerEvent> events_;
  std::size_t at_ = 0;
};

core::LayerEntry layer_entry(core::EntryKind kind, std::string path) {
  core::LayerEntry entry;
  entry.path = std::move(path);
  entry.kind = kind;
  entry.mode = kind == core::EntryKind::kDirectory ? 0755 : 0644;
  return entry;
}

TEST_F(NativeTest, ALayerIsWrittenToTheRootBelowAllMounts) {
  const SandboxId id(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    auto box = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(box) << box.error().message;
    if (!box) co_return;
    auto under = layer_entry(core::EntryKind::kFile, "dev/under");
    under.size = 6;
    auto seen = layer_entry(core::EntryKind::kHardLink, "seen");
    seen.target = "dev/under";
    auto program = layer_entry(core::EntryKind::kFile, "opt/tool/ping");
    program.mode = 04755;
    program.uid = 1000;
    program.gid = 65535;
    // A little-endian vfs_cap_data of revision 2: CAP_NET_RAW, effective.
    program.xattrs["security.capability"] = std::string(
        "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 20);
    program.xattrs["user.note"] = "hi";
    const auto fifo = layer_entry(core::EntryKind::kFifo, "opt/tool/pipe");
    const std::vector<core::LayerEvent> events = {
        under, Bytes("below\n"),
        seen,  program,
        fifo,  layer_entry(core::EntryKind::kGone, "etc/cay-was-never-here"),
    };
    std::unique_ptr<core::LayerSource> source = std::make_unique<PreparedLayer>(events);
    auto written = co_await (*box)->write_layer(std::move(source));
    EXPECT_TRUE(written) << written.error().message;
    auto look = co_await run_in(**box, shell("a", "cat /seen; test -e /dev/under || echo covered"));
    EXPECT_TRUE(look) << look.error().message;
    if (look) EXPECT_EQ(look->out, "below\ncovered\n") << look->err;
    auto info = co_await (*box)->stat("/opt/tool/ping", {}, false);
    EXPECT_TRUE(info) << info.error().message;
    if (info) EXPECT_EQ(info->uid, 1000U);
    if (info) EXPECT_EQ(info->gid, 65535U);
    if (info) EXPECT_EQ(info->mode, 04755U);
    auto layer = co_await (*box)->read_layer("/opt/tool");
    EXPECT_TRUE(layer) << layer.error().message;
    std::vector<std::string> names;
    while (layer) {
      auto event = co_await (*layer)->next();
      EXPECT_TRUE(event) << event.error().message;
      if (!event || !*event) break;
      const auto* entry = std::get_if<core::LayerEntry>(&**event);
      if (entry == nullptr) continue;
      names.push_back(entry->path);
      if (entry->path == "ping") EXPECT_EQ(entry->xattrs, program.xattrs);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"", "ping", "pipe"}));
    auto gone = co_await runtime_->destroy(id);
    EXPECT_TRUE(gone) << gone.error().message;
  });
}

// As an import and a push do it: a sandbox writes a layer, which is sealed, booted and read.
TEST_F(NativeTest, ASealedLayerIsBootedAndReadBack) {
  const SandboxId builder(new_uuid());
  const SandboxId box(new_uuid());
  const SandboxId fork(new_uuid());
  const LayerId layer(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    core::Layers& layers = *runtime_->layers();
    auto build = spec(builder);
    build.builds_layer = true;
    auto writer = co_await runtime_->boot(build);
    EXPECT_TRUE(writer) << writer.error().message;
    if (!writer) co_return;
    auto file = layer_entry(core::EntryKind::kFile, "etc/made");
    file.size = 5;
    const auto emptied = layer_entry(core::EntryKind::kGone, "etc/group");
    std::vector<core::LayerEvent> events = {file, Bytes("made\n"), emptied};
    std::unique_ptr<core::LayerSource> source = std::make_unique<PreparedLayer>(std::move(events));
    auto written = co_await (*writer)->write_layer(std::move(source));
    EXPECT_TRUE(written) << written.error().message;
    auto sealed = co_await layers.seal(builder, layer);
    EXPECT_TRUE(sealed) << sealed.error().message;
    if (!sealed) co_return;
    EXPECT_EQ(sealed->below, std::vector<LayerId>{LayerId(RealLauncher::kSnapshot)});
    auto twice = co_await layers.seal(builder, layer);
    EXPECT_FALSE(twice);
    if (!twice) EXPECT_EQ(twice.error().reason, "layer_exists");
    auto ended = co_await runtime_->destroy(builder);
    EXPECT_TRUE(ended);

    auto on_it = spec(box);
    on_it.layer = layer;
    on_it.mounts = {{.path = "/layer", .layer = layer, .read_only = true}};
    auto live = co_await runtime_->boot(on_it);
    EXPECT_TRUE(live) << live.error().message;
    if (!live) co_return;
    auto look = co_await run_in(
        **live, shell("a", "cat /etc/made; test -e /etc/group || echo gone; echo 1 > /root/own"));
    EXPECT_TRUE(look && look->out == "made\ngone\n");
    auto read = co_await (*live)->read_layer("/layer");
    EXPECT_TRUE(read) << read.error().message;
    std::vector<std::string> seen;
    while (read) {
      auto event = co_await (*read)->next();
      EXPECT_TRUE(event) << event.error().message;
      if (!event || !*event) break;
      if (const auto* entry = std::get_if<core::LayerEntry>(&**event))
        seen.push_back(std::to_string(static_cast<int>(entry->kind)) + " " + entry->path);
    }
    // Only its own entries: a directory on the way, the file, and what is gone.
    EXPECT_EQ(seen, (std::vector<std::string>{"2 ", "2 etc", "6 etc/group", "1 etc/made"}));
    auto in_use = co_await layers.remove(layer);
    EXPECT_FALSE(in_use);
    if (!in_use) EXPECT_EQ(in_use.error().code, Code::kConflict);

    auto copy = spec(fork);
    copy.layer = layer;
    copy.disk_of = box;
    auto forked = co_await runtime_->boot(copy);
    EXPECT_TRUE(forked) << forked.error().message;
    if (forked) {
      auto own = co_await run_in(**forked, shell("a", "cat /root/own /etc/made"));
      EXPECT_TRUE(own && own->out == "1\nmade\n");
    }
    for (const SandboxId& one : {box, fork}) {
      auto gone = co_await runtime_->destroy(one);
      EXPECT_TRUE(gone) << gone.error().message;
    }
    auto removed = co_await layers.remove(layer);
    EXPECT_TRUE(removed) << removed.error().message;
    auto left = co_await layers.list();
    EXPECT_TRUE(left && left->empty());
  });
}

TEST_F(NativeTest, TheLowestLayerIsWrittenToAnEmptyRoot) {
  const SandboxId builder(new_uuid());
  const LayerId layer(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    auto build = spec(builder);
    build.layer = {};
    build.builds_layer = true;
    auto writer = co_await runtime_->boot(build);
    EXPECT_TRUE(writer) << writer.error().message;
    if (!writer) co_return;
    auto top = layer_entry(core::EntryKind::kDirectory, "");
    auto file = layer_entry(core::EntryKind::kFile, "proc/of-the-image");
    std::vector<core::LayerEvent> events = {top, file};
    std::unique_ptr<core::LayerSource> source = std::make_unique<PreparedLayer>(std::move(events));
    auto written = co_await (*writer)->write_layer(std::move(source));
    EXPECT_TRUE(written) << written.error().message;
    auto sealed = co_await runtime_->layers()->seal(builder, layer);
    EXPECT_TRUE(sealed) << sealed.error().message;
    if (sealed) EXPECT_TRUE(sealed->below.empty());
    auto ended = co_await runtime_->destroy(builder);
    EXPECT_TRUE(ended);

    const SandboxId reader(new_uuid());
    auto with = spec(reader);
    with.mounts = {{.path = "/layer", .layer = layer, .read_only = true}};
    auto box = co_await runtime_->boot(with);
    EXPECT_TRUE(box) << box.error().message;
    if (!box) co_return;
    auto read = co_await (*box)->read_layer("/layer");
    EXPECT_TRUE(read) << read.error().message;
    std::vector<std::string> paths;
    while (read) {
      auto event = co_await (*read)->next();
      EXPECT_TRUE(event) << event.error().message;
      if (!event || !*event) break;
      paths.push_back(std::get<core::LayerEntry>(**event).path);
    }
    // Nothing of Cay's is in it.
    EXPECT_EQ(paths, (std::vector<std::string>{"", "proc", "proc/of-the-image"}));
    auto gone = co_await runtime_->destroy(reader);
    EXPECT_TRUE(gone);
    auto removed = co_await runtime_->layers()->remove(layer);
    EXPECT_TRUE(removed) << removed.error().message;
  });
}

TEST_F(NativeTest, AVolumeOutlivesTheSandboxThatMountedIt) {
  const VolumeId volume(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    core::VolumeDisks& volumes = *runtime_->volumes();
    auto made = co_await volumes.make(volume, 16u << 20);
    EXPECT_TRUE(made) << made.error().message;
    for (const char* script : {"echo kept > /data/f", "cat /data/f"}) {
      const SandboxId id(new_uuid());
      auto with = spec(id);
      with.mounts = {{.path = "/data", .volume = volume}};
      auto box = co_await runtime_->boot(with);
      EXPECT_TRUE(box) << box.error().message;
      if (!box) co_return;
      auto seen = co_await run_in(**box, shell("a", script));
      EXPECT_TRUE(seen && seen->end && seen->end->end.exit_code == 0);
      if (seen && std::string(script).starts_with("cat")) EXPECT_EQ(seen->out, "kept\n");
      auto gone = co_await runtime_->destroy(id);
      EXPECT_TRUE(gone);
    }
    auto all = co_await volumes.list();
    EXPECT_TRUE(all && all->size() == 1 && all->front().first == volume);
    auto removed = co_await volumes.remove(volume);
    EXPECT_TRUE(removed) << removed.error().message;
  });
}

TEST_F(NativeTest, AKilledKeeperIsADeathAndTheDiskStays) {
  const SandboxId id(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    auto box = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(box) << box.error().message;
    if (!box) co_return;
    auto kept = co_await run_in(**box, shell("a", "echo made > /root/kept"));
    EXPECT_TRUE(kept && kept->end);
    auto started = co_await (*box)->start(shell("b", "echo begun; sleep 600"));
    EXPECT_TRUE(started);
    CommandId b("b");
    auto reader = co_await (*box)->attach(b, {});
    EXPECT_TRUE(reader);
    if (!reader) co_return;
    auto begun = co_await (*reader)->next();
    EXPECT_TRUE(begun);
    const pid_t keeper = launcher_->keeper_of(id.get());
    EXPECT_GT(keeper, 0);
    if (keeper > 0) ::kill(keeper, SIGKILL);
    auto lost = co_await (*reader)->next();
    EXPECT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::kLost);
    auto told = co_await died_->wait_for(Millis{10'000});
    EXPECT_TRUE(told);
    auto again = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(again) << again.error().message;
    if (!again) co_return;
    auto back = co_await run_in(**again, shell("c", "cat /root/kept"));
    EXPECT_TRUE(back && back->out == "made\n");
  });
  EXPECT_EQ(deaths_.size(), 1u);
}

TEST_F(NativeTest, ADaemonThatComesBackFindsItsSandboxAndItsOutput) {
  const SandboxId id(new_uuid());
  const SandboxId unknown(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    auto box = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(box) << box.error().message;
    auto other = co_await runtime_->boot(spec(unknown));
    EXPECT_TRUE(other);
    if (!box) co_return;
    auto started = co_await (*box)->start(
        shell("a", "i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo $i; sleep 0.02; done"));
    EXPECT_TRUE(started);
  });
  new_daemon();
  play([&, this]() -> asio::awaitable<void> {
    std::vector<SandboxId> known{id};
    auto alive = co_await runtime_->adopt(std::move(known));
    EXPECT_TRUE(alive && alive->size() == 1u);
    if (!alive || alive->empty()) co_return;
    CommandId a("a");
    auto reader = co_await alive->front().second->attach(a, {});
    EXPECT_TRUE(reader);
    if (!reader) co_return;
    auto seen = co_await drain(**reader);
    std::string all;
    for (int i = 1; i <= 40; ++i) all += std::to_string(i) + "\n";
    EXPECT_EQ(seen.out, all);
    EXPECT_TRUE(seen.end && seen.end->end.exit_code == 0);
  });
  EXPECT_EQ(launcher_->keeper_of(unknown.get()), 0);
  EXPECT_FALSE(std::filesystem::exists(launcher_->data + "/spool/" + unknown.get()));
}

// A daemon settles its rows between adopting and watching: a keeper that dies then must not stay
// `ready` for ever.
TEST_F(NativeTest, ADeathBetweenAdoptionAndWatchIsTold) {
  const SandboxId id(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    auto box = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(box) << box.error().message;
  });
  new_daemon(false);
  play([&, this]() -> asio::awaitable<void> {
    std::vector<SandboxId> known{id};
    auto alive = co_await runtime_->adopt(std::move(known));
    EXPECT_TRUE(alive && alive->size() == 1u);
    if (!alive || alive->empty()) co_return;
    const pid_t keeper = launcher_->keeper_of(id.get());
    EXPECT_GT(keeper, 0);
    if (keeper > 0) ::kill(keeper, SIGKILL);
    for (bool lost = false; !lost;) {
      auto stats = co_await alive->front().second->stats();
      lost = !stats && stats.error().code == Code::kLost;
    }
    EXPECT_TRUE(deaths_.empty());
    watch();
    // Reported already, or as soon as the launcher knows why it died (or had the time to).
    for (int looks = 0; deaths_.empty() && looks < 1000; ++looks) co_await sleep_for(Millis{10});
    EXPECT_EQ(deaths_.size(), 1u);
  });
}

TEST_F(NativeTest, ALauncherThatIsKilledIsWaitedFor) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP()
      << "TSan gives a forked child a thread of its own, and setns(2) takes only single-threaded "
         "processes into a user namespace: no command can run under it";
#endif
  const SandboxId id(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    const pid_t worker = launcher_->worker();
    EXPECT_GT(worker, 0);
    if (worker > 0) ::kill(worker, SIGKILL);
    auto box = co_await runtime_->boot(spec(id));
    EXPECT_TRUE(box) << box.error().message;
    if (!box) co_return;
    const pid_t second = launcher_->worker();
    if (second > 0) ::kill(second, SIGKILL);
    auto seen = co_await run_in(**box, shell("a", "echo still here"));
    EXPECT_TRUE(seen) << seen.error().message;
    if (seen) EXPECT_EQ(seen->out, "still here\n");
    auto gone = co_await runtime_->destroy(id);
    EXPECT_TRUE(gone) << gone.error().message;
  });
  EXPECT_TRUE(deaths_.empty());
}

TEST_F(NativeTest, ABootThatCannotBeLeavesNothing) {
  const SandboxId id(new_uuid());
  play([&, this]() -> asio::awaitable<void> {
    auto wrong = spec(id);
    wrong.layer = LayerId(new_uuid());
    auto box = co_await runtime_->boot(std::move(wrong));
    EXPECT_FALSE(box);
    EXPECT_FALSE(is_ours(box.error().code)) << box.error().message;
  });
  EXPECT_FALSE(std::filesystem::exists(launcher_->data + "/spool/" + id.get()));
  EXPECT_EQ(launcher_->keeper_of(id.get()), 0);
}

TEST_F(NativeTest, FeaturesAreTold) {
  play([this]() -> asio::awaitable<void> {
    auto features = co_await runtime_->features();
    EXPECT_TRUE(features && !features->empty());
    const auto can = runtime_->capabilities();
    if (!features) co_return;
    for (const auto& feature : *features) {
      if (feature.name == "program record") EXPECT_EQ(can.programs.available(), feature.ok);
      if (feature.name == "network") EXPECT_EQ(can.network.available(), feature.ok);
      if (feature.name == "disk quota") EXPECT_EQ(can.disk_limit.available(), feature.ok);
    }
    EXPECT_TRUE(can.tmpfs.available()) << can.tmpfs.missing;
  });
}

}  // namespace
}  // namespace cay::runtime::testing
