// LauncherClient and NativeRuntime against a scripted launcher: restarts, deaths, absence.
#include "runtime/native/launcher_client.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "async/scope.h"
#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "runtime/native/native_runtime.h"
#include "runtime/keeper/testing/fake_peer.h"
#include "runtime/native/unix_dialer.h"

namespace cay::runtime {
namespace {

using cay::testing::run;
using cay::testing::TempDir;
using testing::FakeHost;
using testing::FakePeer;

constexpr const char* kId = "6f1c2a34-0000-4000-8000-000000000001";
constexpr const char* kStranger = "6f1c2a34-0000-4000-8000-000000000002";

class LauncherClientTest : public ::testing::Test {
 protected:
  asio::io_context loop_;
  const TempDir temp_;

  void SetUp() override { std::filesystem::create_directories(temp_.path() + "/run"); }
  std::string socket() const { return temp_.path() + "/run/launcher.sock"; }
  std::string keeper_socket() const { return temp_.path() + "/run/" + kId + ".sock"; }
  NativeConfig config() const {
    return {.data = temp_.path(), .instance = "", .build = "test", .launcher_limit = Millis{5000}};
  }
  void play(asio::awaitable<void> theirs, asio::awaitable<void> mine) {
    testing::play(loop_, std::move(theirs), std::move(mine));
  }
  core::BootSpec boot_spec() const {
    core::BootSpec spec;
    spec.id = SandboxId(kId);
    spec.hostname = "box";
    return spec;
  }
  // Answers one request with `type`; returns it.
  static asio::awaitable<wire::Frame> answer(FakePeer& peer, wire::Type type, std::string payload) {
    auto request = co_await peer.read();
    co_await peer.write(type, request.channel, std::move(payload));
    co_return request;
  }
};

TEST_F(LauncherClientTest, NoLauncherIsSaidWithWhatToRun) {
  auto limited = config();
  limited.launcher_limit = Millis{50};
  NativeRuntime runtime(loop_.get_executor(), limited);
  auto got = run(loop_, runtime.boot(boot_spec()));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
  EXPECT_EQ(got.error().reason, "launcher_unavailable");
  EXPECT_NE(got.error().message.find("cay launcher --data"), std::string::npos);
}

TEST_F(LauncherClientTest, ACreateSurvivesARestartOfTheLauncher) {
  auto host = std::make_unique<FakeHost>(loop_.get_executor(), socket());
  LauncherClient client(
      loop_.get_executor(),
      {.dial = unix_dialer(socket()), .hello = {}, .instance = "", .start_hint = "x"});
  auto launcher = [&]() -> asio::awaitable<void> {
    {
      auto peer = co_await host->accept();
      co_await peer.greet("launcher");
      auto request = co_await peer.read();
      EXPECT_EQ(request.type, static_cast<std::uint16_t>(wire::Type::kCreate));
      host.reset();
      peer.close();
    }
    host = std::make_unique<FakeHost>(loop_.get_executor(), socket());
    auto peer = co_await host->accept();
    co_await peer.greet("launcher");
    auto created =
        wire::encode(wire::Created{.sandbox_id = kId, .keeper_pid = 7, .disk_enforced_by = ""});
    auto request = co_await answer(peer, wire::Type::kCreated, std::move(created));
    EXPECT_EQ(request.type, static_cast<std::uint16_t>(wire::Type::kCreate));
  };
  auto ours = [&]() -> asio::awaitable<void> {
    wire::CreateSandbox request;
    request.sandbox_id = kId;
    auto created = co_await client.create(std::move(request));
    EXPECT_TRUE(created);
    if (created) EXPECT_EQ(created->keeper_pid, 7);
  };
  play(launcher(), ours());
}

TEST_F(LauncherClientTest, ErrorsOfTheLauncherAreTheCallers) {
  FakeHost host(loop_.get_executor(), socket());
  NativeRuntime runtime(loop_.get_executor(), config());
  auto launcher = [&]() -> asio::awaitable<void> {
    auto peer = co_await host.accept();
    co_await peer.greet("launcher");
    const wire::ErrorMsg full{.code = static_cast<std::uint32_t>(Code::kExhausted),
                              .reason = "no_slots",
                              .message = "all slots are used",
                              .os_errno = 0};
    auto payload = wire::encode(full);
    auto request = co_await answer(peer, wire::Type::kError, std::move(payload));
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto got = co_await runtime.boot(boot_spec());
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kExhausted);
    EXPECT_EQ(got.error().reason, "no_slots");
  };
  play(launcher(), ours());
}

TEST_F(LauncherClientTest, AKeeperThatIsNotThereUndoesTheBoot) {
  FakeHost host(loop_.get_executor(), socket());
  NativeRuntime runtime(loop_.get_executor(), config());
  std::vector<std::string> deaths;
  runtime.watch([&](core::SandboxDeath death) { deaths.push_back(death.reason); });
  auto launcher = [&]() -> asio::awaitable<void> {
    auto peer = co_await host.accept();
    co_await peer.greet("launcher");
    auto created =
        wire::encode(wire::Created{.sandbox_id = kId, .keeper_pid = 7, .disk_enforced_by = ""});
    auto first = co_await answer(peer, wire::Type::kCreated, std::move(created));
    auto undo = co_await answer(peer, wire::Type::kOk, std::string());
    EXPECT_EQ(undo.type, static_cast<std::uint16_t>(wire::Type::kDestroy));
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto got = co_await runtime.boot(boot_spec());
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kLost);
  };
  play(launcher(), ours());
  EXPECT_TRUE(deaths.empty());  // it never lived
}

// Boots by a launcher of a given release.
class LauncherFeatureTest : public LauncherClientTest {
 protected:
  // Boots `spec` by a launcher whose HELLO lists `features` and whose answer is `created`. Returns
  // the reason why that fails; "boots" if it does not.
  std::string boot(core::BootSpec spec, std::vector<std::string> features,
                   wire::Created created = {}) {
    FakeHost host(loop_.get_executor(), socket());
    FakeHost keeper_host(loop_.get_executor(), keeper_socket());
    auto with = config();
    with.nested_networks = false;
    NativeRuntime runtime(loop_.get_executor(), with);
    created.sandbox_id = kId;
    created.profile = to_string(spec.profile);
    auto launcher = [&]() -> asio::awaitable<void> {
      auto peer = co_await host.accept();
      co_await peer.greet("launcher", "", features);
      auto payload = wire::encode(created);
      auto create = co_await answer(peer, wire::Type::kCreated, std::move(payload));
      EXPECT_EQ(create.type, static_cast<std::uint16_t>(wire::Type::kCreate));
      auto undo = co_await answer(peer, wire::Type::kOk, std::string());
      EXPECT_EQ(undo.type, static_cast<std::uint16_t>(wire::Type::kDestroy));
    };
    auto keeper = [&]() -> asio::awaitable<void> {
      auto peer = co_await keeper_host.accept();
      co_await peer.greet("keeper", kId);
    };
    std::string reason = "boots";
    auto ours = [&]() -> asio::awaitable<void> {
      auto box = co_await runtime.boot(std::move(spec));
      if (!box) reason = box.error().reason;
    };
    auto all = [&]() -> asio::awaitable<void> {
      Scope scope(loop_.get_executor());
      scope.spawn(launcher());
      scope.spawn(keeper());
      auto body = ours();
      co_await scope.until(std::move(body));
    };
    run<void>(loop_, all());
    return reason;
  }
};

TEST_F(LauncherFeatureTest, AListedFeatureNeedsNoEcho) {
  auto in_memory = boot_spec();
  in_memory.tmpfs = {{"/scratch", 1 << 20}};
  EXPECT_EQ(boot(in_memory, {"tmpfs"}), "boots");
  EXPECT_EQ(boot(in_memory, {"nested-networks"}), "tmpfs_unsupported");
  auto guarded = boot_spec();
  guarded.hidden_paths = {"/secrets"};
  EXPECT_EQ(boot(guarded, {"path-rules"}), "boots");
  EXPECT_EQ(boot(guarded, {"tmpfs"}), "paths_unsupported");
  auto nested = boot_spec();
  nested.profile = Profile::kNested;
  EXPECT_EQ(boot(nested, {"nested-networks"}), "boots");
  EXPECT_EQ(boot(nested, {"tmpfs"}), "profile_unsupported");
}

TEST_F(LauncherFeatureTest, ALauncherThatListsNoneIsJudgedByItsAnswer) {
  wire::Created echo;
  echo.knows_networks = echo.knows_tmpfs = true;
  auto in_memory = boot_spec();
  in_memory.tmpfs = {{"/scratch", 1 << 20}};
  EXPECT_EQ(boot(in_memory, {}, echo), "boots");
  EXPECT_EQ(boot(in_memory, {}), "tmpfs_unsupported");
  auto guarded = boot_spec();
  guarded.read_only_paths = {"/repo"};
  EXPECT_EQ(boot(guarded, {}, echo), "paths_unsupported") << "it is older than the feature";
  auto nested = boot_spec();
  nested.profile = Profile::kNested;
  EXPECT_EQ(boot(nested, {}, echo), "boots");
  EXPECT_EQ(boot(nested, {}), "profile_unsupported");
}

TEST_F(LauncherClientTest, ADeathIsToldOnceHoweverManyWitnesses) {
  FakeHost host(loop_.get_executor(), socket());
  auto keeper_host = std::make_unique<FakeHost>(loop_.get_executor(), keeper_socket());
  NativeRuntime runtime(loop_.get_executor(), config());
  std::vector<std::string> deaths;
  Event died(loop_.get_executor());
  Event second(loop_.get_executor());
  Event booted(loop_.get_executor());
  runtime.watch([&](core::SandboxDeath death) {
    deaths.push_back(death.id.get() + " " + death.reason);
    died.set();
  });
  auto launcher = [&]() -> asio::awaitable<void> {
    auto peer = co_await host.accept();
    co_await peer.greet("launcher");
    auto created =
        wire::encode(wire::Created{.sandbox_id = kId, .keeper_pid = 7, .disk_enforced_by = ""});
    auto first = co_await answer(peer, wire::Type::kCreated, std::move(created));
    auto keeper = co_await keeper_host->accept();
    co_await keeper.greet("keeper", kId);
    co_await booted.wait();
    wire::SandboxEntry entry;
    entry.sandbox_id = kId;
    entry.reason = "keeper killed by signal 9";
    co_await peer.write(wire::Type::kDied, 0, entry);
    keeper_host.reset();
    keeper.close();
    co_await died.wait();
    co_await peer.write(wire::Type::kDied, 0, entry);
    auto list = co_await peer.read();
    co_await peer.write(wire::Type::kEof, list.channel, wire::Eof{});
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto box = co_await runtime.boot(boot_spec());
    EXPECT_TRUE(box);
    booted.set();
    co_await died.wait();
    if (box) {
      auto stats = co_await (*box)->stats();
      EXPECT_FALSE(stats);
      EXPECT_EQ(stats.error().code, Code::kLost);
    }
    std::vector<SandboxId> none;
    auto adopted = co_await runtime.adopt(std::move(none));  // comes back after the second report
    EXPECT_TRUE(adopted);
  };
  play(launcher(), ours());
  EXPECT_EQ(deaths, std::vector<std::string>{std::string(kId) + " keeper killed by signal 9"});
}

TEST_F(LauncherClientTest, AdoptsTheLivingStopsTheDeadRemovesTheUnknown) {
  FakeHost host(loop_.get_executor(), socket());
  FakeHost keeper_host(loop_.get_executor(), keeper_socket());
  NativeRuntime runtime(loop_.get_executor(), config());
  constexpr const char* kDead = "6f1c2a34-0000-4000-8000-000000000003";
  std::vector<std::string> ended;
  auto keeper = [&]() -> asio::awaitable<void> {
    auto peer = co_await keeper_host.accept();
    co_await peer.greet("keeper", kId);
    try {
      auto frame = co_await peer.read();
    } catch (const boost::system::system_error&) {
    }
  };
  auto launcher = [&]() -> asio::awaitable<void> {
    auto peer = co_await host.accept();
    co_await peer.greet("launcher");
    auto list = co_await peer.read();
    for (const auto& [id, alive] :
         {std::pair{kId, true}, std::pair{kStranger, true}, std::pair{kDead, false}}) {
      wire::SandboxEntry entry;
      entry.sandbox_id = id;
      entry.alive = alive;
      entry.has_disk = true;
      co_await peer.write(wire::Type::kSandboxEntry, list.channel, entry);
    }
    co_await peer.write(wire::Type::kEof, list.channel, wire::Eof{});
    for (int i = 0; i < 2; ++i) {
      auto request = co_await answer(peer, wire::Type::kOk, std::string());
      const auto ref = wire::decode<wire::SandboxRef>(request.payload);
      const bool destroy = request.type == static_cast<std::uint16_t>(wire::Type::kDestroy);
      ended.push_back((destroy ? "destroy " : "stop ") + ref->sandbox_id);
    }
  };
  auto both = [&]() -> asio::awaitable<void> {
    Scope scope(loop_.get_executor());
    scope.spawn(keeper());
    co_await launcher();
    co_await scope.join();
  };
  auto ours = [&]() -> asio::awaitable<void> {
    std::vector<SandboxId> known = {SandboxId(kId), SandboxId(kDead)};
    auto alive = co_await runtime.adopt(std::move(known));
    EXPECT_TRUE(alive);
    if (!alive) co_return;
    EXPECT_EQ(alive->size(), 1u);
    if (alive->size() == 1) EXPECT_EQ(alive->front().first.get(), kId);
  };
  play(both(), ours());
  EXPECT_EQ(ended, (std::vector<std::string>{std::string("destroy ") + kStranger,
                                             std::string("stop ") + kDead}));
}

TEST_F(LauncherClientTest, ProgressOfTheSnapshotIsPassedOn) {
  FakeHost host(loop_.get_executor(), socket());
  NativeRuntime runtime(loop_.get_executor(), config());
  std::vector<std::string> told;
  auto launcher = [&]() -> asio::awaitable<void> {
    auto peer = co_await host.accept();
    co_await peer.greet("launcher");
    auto request = co_await peer.read();
    co_await peer.write(wire::Type::kProgress, request.channel,
                        wire::ProgressMsg{.text = "linking /usr"});
    wire::SnapshotMsg snapshot;
    snapshot.id = kStranger;
    snapshot.name = "default";
    snapshot.status = "ready";
    co_await peer.write(wire::Type::kSnapshot, request.channel, snapshot);
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto progress = [&told](std::string text) { told.push_back(std::move(text)); };
    auto snapshot = co_await runtime.prepare_default_snapshot(std::move(progress));
    EXPECT_TRUE(snapshot);
    if (snapshot) EXPECT_EQ(snapshot->name, "default");
  };
  play(launcher(), ours());
  EXPECT_EQ(told, std::vector<std::string>{"linking /usr"});
}

}  // namespace
}  // namespace cay::runtime
