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
