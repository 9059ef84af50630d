#include "core/verbs/claims.h"

#include "core/core_fixture.h"
#include "core/verbs/sandboxes.h"

namespace cay::core {
namespace {

using std::chrono::milliseconds;
constexpr CreateOptions kAtOnce{.wait_for_ready = false};

class ClaimsTest : public CoreTest {
 protected:
  ClaimsTest() { EXPECT_TRUE(open()); }

  Task<Ensured> ensuring(const std::string& claim, SandboxSpec spec = {},
                         CreateOptions options = {}) {
    return core->claims().ensure(alice, std::move(spec), claim, options);
  }
  Result<Ensured> ensure(const std::string& claim, SandboxSpec spec = {},
                         CreateOptions options = {}) {
    return run(ensuring(claim, std::move(spec), options));
  }
  Sandbox row_of(const SandboxId& id) { return *run(core->sandboxes().get(alice, id.get())); }
  // As if the daemon had been killed between the row and the boot. The caller opens the next one.
  SandboxId killed_in_its_making() {
    const SandboxId id = ensure("thread:1")->sandbox.id;
    store.rows.at(id).state = SandboxState::kProvisioning;
    runtime.alive.erase(id);
    return id;
  }
};

TEST_F(ClaimsTest, TheFirstCallMakesAndTheNextOnesFind) {
  const auto made = ensure("thread:1", named("box"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->created);
  EXPECT_EQ(made->sandbox.state, SandboxState::kReady);
  EXPECT_EQ(made->sandbox.claim, "thread:1");
  const auto found = ensure("thread:1", named("other"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->created) << "whatever is asked for, the existing one is returned";
  EXPECT_EQ(found->sandbox.id, made->sandbox.id);
  EXPECT_EQ(found->sandbox.name, "box");
  const auto second = ensure("thread:2");
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->created);
  EXPECT_NE(second->sandbox.id, made->sandbox.id);
  SandboxQuery query;
  query.claim = "thread:2";
  const auto page = run(core->sandboxes().list(alice, query));
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->items[0].id, second->sandbox.id);
}

TEST_F(ClaimsTest, CallersAtTheSameTimeGetOneSandboxWhenItIsReady) {
  runtime.hold_boots = true;
  std::vector<std::shared_ptr<testing::Started<Ensured>>> callers;
  for (int i = 0; i < 10; ++i) callers.push_back(begin(ensuring("thread:1")));
  ASSERT_EQ(store.rows.size(), 1U);
  EXPECT_EQ(store.rows.begin()->second.claim, "thread:1") << "written with the row";
  for (const auto& one : callers) EXPECT_FALSE(one->done());
  runtime.release_boots();
  int created = 0;
  for (const auto& one : callers) {
    const auto got = finish(one);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->sandbox.state, SandboxState::kReady);
    EXPECT_EQ(got->sandbox.id, store.rows.begin()->first);
    created += got->created ? 1 : 0;
  }
  EXPECT_EQ(created, 1);
  EXPECT_EQ(runtime.boots.size(), 1U);
}

TEST_F(ClaimsTest, CallersAtTheSameTimeGetTheSameErrorAndTheClaimIsFree) {
  runtime.hold_boots = true;
  runtime.boot_script = {Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM", 0}};
  std::vector<std::shared_ptr<testing::Started<Ensured>>> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(begin(ensuring("thread:1")));
  runtime.release_boots();
  for (const auto& one : callers) {
    const auto got = finish(one);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().reason, "mount_failed");
  }
  expect_nothing_left();
  EXPECT_TRUE(ensure("thread:1")->created);
}

TEST_F(ClaimsTest, ItsMakingGoesOnWhenTheCallerLeaves) {
  runtime.hold_boots = true;
  const auto first = begin(ensuring("thread:1"));
  const auto second = begin(ensuring("thread:1"));
  first->cancel();
  drain();
  EXPECT_TRUE(first->done());
  runtime.release_boots();
  const auto got = finish(second);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(store.rows.size(), 1U);
}

TEST_F(ClaimsTest, ACallerWaitsNoLongerThanItsOwnTime) {
  runtime.hold_boots = true;
  const auto first = begin(ensuring("thread:1"));
  const auto second = ensure("thread:1", {}, CreateOptions{.timeout = milliseconds(5)});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(second.error().reason, "boot_timeout");
  EXPECT_FALSE(ensure("thread:1", {}, kAtOnce)->created);
  runtime.release_boots();
  EXPECT_TRUE(finish(first)->created);
}

TEST_F(ClaimsTest, TenantsAreSeparate) {
  ASSERT_TRUE(ensure("thread:1"));
  const auto other = run(core->claims().ensure(bob, {}, "thread:1", {}));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(other->created);
  EXPECT_EQ(store.rows.size(), 2U);
}

TEST_F(ClaimsTest, AStoppedOneIsStartedAndAPausedOneIsNot) {
  const SandboxId id = ensure("thread:1")->sandbox.id;
  ASSERT_TRUE(run(core->sandboxes().stop(alice, id.get())));
  const auto started = ensure("thread:1");
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(started->sandbox.id, id);
  EXPECT_EQ(started->sandbox.state, SandboxState::kReady);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, id.get())));
  EXPECT_EQ(ensure("thread:1", {}, kAtOnce)->sandbox.id, id);
  drain();
  EXPECT_EQ(row_of(id).state, SandboxState::kReady);
  ASSERT_TRUE(run(core->sandboxes().pause(alice, id.get())));
  EXPECT_EQ(ensure("thread:1")->sandbox.state, SandboxState::kPaused);
  EXPECT_EQ(store.rows.size(), 1U);
}

TEST_F(ClaimsTest, OneThatIsBeingStoppedIsStartedAfterwards) {
  const SandboxId id = ensure("thread:1")->sandbox.id;
  runtime.hold_stops = true;
  const auto stop = begin(core->sandboxes().stop(alice, id.get()));
  const auto ensured = begin(ensuring("thread:1"));
  EXPECT_FALSE(ensured->done());
  runtime.release_stops();
  EXPECT_TRUE(finish(stop));
  const auto got = finish(ensured);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->sandbox.id, id);
  EXPECT_EQ(got->sandbox.state, SandboxState::kReady);
}

TEST_F(ClaimsTest, AFailedAndADeletedOneFreeTheClaim) {
  const SandboxId first = ensure("thread:1")->sandbox.id;
  runtime.die(first, "its keeper was lost");
  drain();
  EXPECT_EQ(row_of(first).state, SandboxState::kFailed);
  EXPECT_EQ(row_of(first).claim, "");
  const auto second = ensure("thread:1");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->created);
  ASSERT_TRUE(run(core->sandboxes().start(alice, first.get())));
  drain();
  EXPECT_EQ(row_of(first).state, SandboxState::kReady) << "it comes back without the claim";
  EXPECT_EQ(row_of(first).claim, "");
  runtime.hold_stops = true;
  const auto removal = begin(core->sandboxes().remove(alice, second->sandbox.id.get()));
  EXPECT_FALSE(removal->done());
  const auto third = ensure("thread:1");
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_TRUE(third->created) << "one that is being deleted no longer holds it";
  runtime.release_stops();
  EXPECT_TRUE(finish(removal));
  EXPECT_EQ(ensure("thread:1")->sandbox.id, third->sandbox.id);
}

TEST_F(ClaimsTest, AStartThatFailsForAWhileKeepsTheClaim) {
  const SandboxId id = ensure("thread:1")->sandbox.id;
  ASSERT_TRUE(run(core->sandboxes().stop(alice, id.get())));
  runtime.boot_script = {Error{Code::kUnavailable, "launcher_gone", "no launcher", 0}};
  EXPECT_EQ(ensure("thread:1").error().reason, "launcher_gone");
  EXPECT_EQ(row_of(id).state, SandboxState::kStopped);
  EXPECT_EQ(ensure("thread:1")->sandbox.id, id);
}

TEST_F(ClaimsTest, AForkHasNoClaim) {
  const SandboxId id = ensure("thread:1")->sandbox.id;
  const auto forks = run(core->sandboxes().fork(alice, id.get(), ForkRequest{}));
  ASSERT_TRUE(forks) << forks.error().message;
  EXPECT_EQ(forks->at(0).claim, "");
  EXPECT_EQ(ensure("thread:1")->sandbox.id, id);
}

TEST_F(ClaimsTest, BadClaimsMakeNothing) {
  for (const std::string& bad : {std::string(), std::string(201, 'a'), std::string("a\nb"),
                                 std::string(1, '\0'), std::string("\x7f")}) {
    const auto got = ensure(bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().reason, "invalid_claim");
  }
  EXPECT_TRUE(store.rows.empty());
  EXPECT_TRUE(ensure(std::string(200, 'a')));
  EXPECT_TRUE(ensure("Faden 七"));
}

TEST_F(ClaimsTest, ItCountsOnceForTheQuota) {
  config.host.max_sandboxes = 1;
  ASSERT_TRUE(open());
  runtime.hold_boots = true;
  const auto first = begin(ensuring("thread:1"));
  const auto second = begin(ensuring("thread:1"));
  runtime.release_boots();
  ASSERT_TRUE(finish(first));
  ASSERT_TRUE(finish(second));
  EXPECT_TRUE(ensure("thread:1"));
  EXPECT_EQ(ensure("thread:2", {}, kAtOnce).error().code, Code::kExhausted);
}

TEST_F(ClaimsTest, OneThatWasBeingMadeIsMadeByTheNextDaemon) {
  const SandboxId id = killed_in_its_making();
  runtime.hold_boots = true;
  ASSERT_TRUE(open());
  const auto first = begin(ensuring("thread:1"));
  const auto second = begin(ensuring("thread:1"));
  runtime.release_boots();
  for (const auto& one : {first, second}) {
    const auto got = finish(one);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->sandbox.id, id);
    EXPECT_FALSE(got->created);
    EXPECT_EQ(got->sandbox.state, SandboxState::kReady);
  }
  EXPECT_EQ(store.rows.size(), 1U);
}

TEST_F(ClaimsTest, OneThatHadJustComeUpIsTakenBack) {
  const SandboxId id = killed_in_its_making();
  runtime.put_alive(id);
  const auto boots = runtime.boots.size();
  ASSERT_TRUE(open());
  EXPECT_EQ(ensure("thread:1")->sandbox.id, id);
  EXPECT_EQ(runtime.boots.size(), boots);
}

TEST_F(ClaimsTest, IfTheNextDaemonCannotMakeItNothingIsLeft) {
  killed_in_its_making();
  runtime.hold_boots = true;
  runtime.boot_script = {Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM", 0}};
  ASSERT_TRUE(open());
  const auto waiting = begin(ensuring("thread:1"));
  runtime.release_boots();
  EXPECT_EQ(finish(waiting).error().reason, "mount_failed");
  expect_nothing_left();
  EXPECT_TRUE(ensure("thread:1")->created);
}

TEST_F(ClaimsTest, ItIsHeldOverRestarts) {
  const SandboxId id = ensure("thread:1")->sandbox.id;
  ASSERT_TRUE(open());
  EXPECT_EQ(ensure("thread:1")->sandbox.id, id) << "it runs on";
  ASSERT_TRUE(run(core->sandboxes().stop(alice, id.get())));
  ASSERT_TRUE(open());
  EXPECT_EQ(ensure("thread:1")->sandbox.id, id) << "it is started";
}

}  // namespace
}  // namespace cay::core
