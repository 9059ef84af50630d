#include <boost/asio/post.hpp>
#include <functional>

#include "core/core_fixture.h"

namespace cay::core {
namespace {

using std::chrono::milliseconds;
constexpr CreateOptions kNoWait{.wait_for_ready = false};

class CreateTest : public CoreTest {
 protected:
  CreateTest() { EXPECT_TRUE(open()); }
};

TEST_F(CreateTest, FillsDefaultsAndBoots) {
  const auto made = create("box");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->state, SandboxState::kReady);
  EXPECT_EQ(made->limits, config.defaults.limits);
  EXPECT_EQ(made->idle_ttl_s, 600);
  EXPECT_EQ(made->policy, "packages");
  EXPECT_EQ(made->snapshot_name, "default");
  EXPECT_EQ(made->created_by, "alice");
  EXPECT_FALSE(made->stopped_at);
  ASSERT_EQ(runtime.boots.size(), 1U);
  EXPECT_EQ(runtime.boots[0].id, made->id);
  EXPECT_EQ(runtime.boots[0].limits, config.defaults.limits);
  EXPECT_EQ(store.rows.at(made->id).state, SandboxState::kReady);
}

TEST_F(CreateTest, MakesANameWhenNoneIsGiven) {
  const auto made = create("");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->name.starts_with("sb-"));
  EXPECT_EQ(made->name.size(), 11U);
}

TEST_F(CreateTest, HostNameHasNoDotsOrUnderscores) {
  ASSERT_TRUE(create("a.b_c"));
  EXPECT_EQ(runtime.boots[0].hostname, "a-b-c");
}

// Every event of a sandbox has a copy of all its labels.
TEST_F(CreateTest, LabelsAreBoundedTogether) {
  using Labels = std::map<std::string, std::string>;
  SandboxSpec spec = named("box");
  for (int i = 0; i < 16; ++i)
    spec.labels[std::string(1, static_cast<char>('a' + i))] = std::string(1023, 'x');
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{}))) << "16 KiB to the byte";
  SandboxPatch patch;
  Labels over = spec.labels;
  over.begin()->second += 'x';
  patch.labels = over;
  const auto more = run(core->sandboxes().update(alice, "box", patch));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().reason, "invalid_labels");
  EXPECT_NE(more.error().message.find("16385"), std::string::npos) << more.error().message;
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"a\nb", ""}, {"k", "\x1b[2J"}, {"k", "\x7f"}, {"k", std::string(1, '\0')}}) {
    patch.labels = Labels{std::pair(key, value)};
    const auto refused = run(core->sandboxes().update(alice, "box", patch));
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().reason, "invalid_labels");
  }
  patch.labels = Labels{std::pair("Ümlaut", "\"é\"")};
  EXPECT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
}

// Rows that are older than the bound keep their labels, and other changes of them are not held to
// it.
TEST_F(CreateTest, MoreLabelsThanAreTakenNowStay) {
  ASSERT_TRUE(create("box"));
  Sandbox row = store.rows.begin()->second;
  for (int i = 0; i < 64; ++i) row.labels[std::to_string(i)] = std::string(1024, '\x01');
  ASSERT_TRUE(store.update(row));
  ASSERT_TRUE(open());
  SandboxPatch patch;
  patch.idle_ttl_s = 7;
  const auto changed = run(core->sandboxes().update(alice, "box", patch));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->labels.size(), 64u);
}

TEST_F(CreateTest, RefusesWhatCanNeverWorkAndMakesNothing) {
  const auto reason = [&](SandboxSpec spec) {
    auto got = run(core->sandboxes().create(alice, std::move(spec), CreateOptions{}));
    return got ? std::string("made") : got.error().reason;
  };
  EXPECT_EQ(reason(named("-x")), "invalid_name");
  EXPECT_EQ(reason(named("00000000-0000-4000-8000-000000000000")), "invalid_name");
  EXPECT_EQ(reason(named(std::string(64, 'a'))), "invalid_name");
  SandboxSpec spec;
  for (int i = 0; i < 65; ++i) spec.labels[std::to_string(i)] = "";
  EXPECT_EQ(reason(spec), "invalid_labels");
  spec = {};
  spec.limits.memory_bytes = 1;
  EXPECT_EQ(reason(spec), "invalid_limits");
  spec.limits.memory_bytes = 1ull << 60;
  EXPECT_EQ(reason(spec), "invalid_limits");
  spec = {};
  spec.run.workdir = "relative";
  EXPECT_EQ(reason(spec), "invalid_workdir");
  spec = {};
  spec.run.env["A=B"] = "";
  EXPECT_EQ(reason(spec), "invalid_env");
  spec = {};
  spec.snapshot = "none";
  EXPECT_EQ(reason(spec), "snapshot_not_found");
  spec = {};
  spec.policy = "everything";
  EXPECT_EQ(reason(spec), "invalid_policy");
  spec = {};
  spec.idle_ttl_s = -1;
  EXPECT_EQ(reason(spec), "invalid_ttl");
  EXPECT_TRUE(runtime.boots.empty());
  expect_nothing_left();
}

TEST_F(CreateTest, AHostWithoutAWayOutMakesDefaultSandboxesAndSaysSo) {
  EXPECT_EQ(create("control")->network.state, NetworkState::kOn);
  runtime.no_network = "no such module";
  const auto made = create("box");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->policy, "packages");
  EXPECT_EQ(made->network.state, NetworkState::kUnavailable);
  EXPECT_EQ(made->network.reason, "no such module");
  EXPECT_EQ(store.rows.at(made->id).network, made->network);
  SandboxSpec off = named("cut");
  off.policy = "off";
  EXPECT_EQ(run(core->sandboxes().create(alice, std::move(off), CreateOptions{}))->network.state,
            NetworkState::kOff);
}

TEST_F(CreateTest, APolicyAskedForByNameIsHadOrRefused) {
  runtime.no_network = "no such module";
  SandboxSpec spec = named("box");
  spec.policy = "packages";
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, CreateOptions{})).error().reason,
            "network_unsupported");
  expect_nothing_left();
  runtime.no_network.clear();
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{})));
  // Once it is there, a start does not lock its files up.
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  runtime.no_network = "the module is gone";
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  ASSERT_TRUE(run(core->commands().list(alice, "box")));
  EXPECT_FALSE(runtime.boots.back().network_required);
}

TEST_F(CreateTest, APolicyIsChangedFromTheNextStart) {
  SandboxSpec spec = named("box");
  spec.policy = "off";
  ASSERT_TRUE(run(core->sandboxes().create(alice, std::move(spec), CreateOptions{})));
  SandboxPatch patch;
  patch.policy = "open";
  const auto changed = run(core->sandboxes().update(alice, "box", patch));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->policy, "open");
  EXPECT_EQ(changed->network.state, NetworkState::kOff) << "as of the last start";
  runtime.network_report.policy = "packages";  // of an earlier start
  EXPECT_EQ(run(core->inspection().network(alice, "box"))->running_policy, "off");
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  const auto network = run(core->inspection().network(alice, "box"));
  EXPECT_EQ(runtime.boots.back().policy, "open");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->policy, "open");
  EXPECT_TRUE(network->policy_allowed);
  patch.policy = "everything";
  EXPECT_EQ(run(core->sandboxes().update(alice, "box", patch)).error().reason, "invalid_policy");
}

TEST_F(CreateTest, AReportOfALargePolicyHoldsNobodyUp) {
  SandboxSpec spec = named("box");
  for (int i = 0; i < 22; ++i) spec.policy += "~(.*a?){20}z" + std::to_string(i) + "\n";
  ASSERT_TRUE(run(core->sandboxes().create(alice, std::move(spec), CreateOptions{})));
  const std::string label(58, 'a');
  for (int i = 0; i < 32; ++i) {
    NetworkDecision line;
    line.host = label + "." + label + "." + label + "." + label + ".n" + std::to_string(i);
    line.reason = "not_in_policy";
    runtime.network_report.items.push_back(std::move(line));
  }
  // Somebody else on the loop: how often it has a turn before the report is there.
  bool done = false;
  int turns = 0;
  std::function<void()> turn = [&] {
    if (done) return;
    ++turns;
    asio::post(loop, turn);
  };
  asio::post(loop, turn);
  const auto look = [&]() -> Task<NetworkReport> {
    auto got = co_await core->inspection().network(alice, "box");
    done = true;
    co_return got;
  };
  const auto report = run(look());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->needed.size(), 32U);
  EXPECT_GT(turns, 1'000);
}

TEST_F(CreateTest, APolicyThatTheOperatorForbidsIsNotHadByAChangeEither) {
  config.defaults.policies =
      std::make_shared<const policy::Catalogue>(*policy::Catalogue::make({}, {"off", "packages"}));
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  SandboxPatch patch;
  patch.policy = "open";
  EXPECT_EQ(run(core->sandboxes().update(alice, "box", patch)).error().reason,
            "policy_not_allowed");
  patch.policy = "off";
  EXPECT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
}

TEST_F(CreateTest, NameIsUniqueInATenantOnly) {
  ASSERT_TRUE(create("box"));
  EXPECT_EQ(create("box").error().reason, "name_in_use");
  EXPECT_TRUE(run(core->sandboxes().create(bob, named("box"), CreateOptions{})));
}

TEST_F(CreateTest, TwoAtOnceWithOneNameMakeOne) {
  runtime.hold_boots = true;
  auto first = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
  auto second = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
  EXPECT_EQ(finish(second).error().reason, "name_in_use");
  runtime.release_boots();
  EXPECT_TRUE(finish(first));
}

TEST_F(CreateTest, FailedBootLeavesNothing) {
  runtime.boot_error = Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM"};
  runtime.leaves_remains = true;
  const auto made = create("box");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().reason, "mount_failed");
  EXPECT_EQ(runtime.destroys.size(), 1U);
  expect_nothing_left();
  runtime.boot_error.reset();
  EXPECT_TRUE(create("box"));  // the name is free
}

TEST_F(CreateTest, GivesUpAtTheDeadlineAndLeavesNothing) {
  runtime.hold_boots = true;
  const auto made = create("box", {.timeout = milliseconds(20)});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(runtime.booting, 0);
  expect_nothing_left();
}

TEST_F(CreateTest, CallerThatGoesAwayLeavesNothing) {
  runtime.hold_boots = true;
  auto pending = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
  EXPECT_EQ(store.rows.size(), 1U);
  pending->cancel();
  drain();
  EXPECT_TRUE(pending->done());
  expect_nothing_left();
}

// The boot may end between the cancellation of the caller and the moment at which it notices that.
TEST_F(CreateTest, CallerThatGoesAwayAtAnyStepOfTheBootLeavesNothing) {
  bool is_answered = false;
  for (int steps = 0; !is_answered; ++steps) {
    ASSERT_LT(steps, 1000);
    runtime.hold_boots = true;
    auto pending = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
    runtime.release_boots();
    loop.restart();
    for (int i = 0; i < steps && !pending->done(); ++i) loop.poll_one();
    is_answered = pending->done();
    pending->cancel();
    drain();
    ASSERT_TRUE(pending->done());
    const bool has_sandbox = !pending->thrown && pending->result->has_value();
    if (has_sandbox) ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
    expect_nothing_left();
    ASSERT_FALSE(HasFailure()) << "after " << steps << " steps";
  }
}

// The clean-up may hang. Then the sandbox shows that, and does not look as if it were still coming
// up.
TEST_F(CreateTest, OneThatWasGivenUpSaysSoWhileItIsUnmade) {
  runtime.hold_boots = runtime.hold_stops = true;
  auto pending = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, "");
  pending->cancel();
  drain();
  const auto seen = run(core->sandboxes().get(alice, "box"));
  ASSERT_TRUE(seen);
  EXPECT_NE(seen->reason.find("being ended"), std::string::npos) << seen->reason;
  runtime.release_stops();
  drain();
  expect_nothing_left();
}

TEST_F(CreateTest, StoreThatFailsAtEachWriteLeavesNothing) {
  for (int writes = 0; writes < 2; ++writes) {
    store.writes_before_error = writes;
    store.write_error = Error{Code::kUnavailable, "store_failed", "disk full"};
    EXPECT_EQ(create("box").error().reason, "store_failed") << writes;
    EXPECT_TRUE(runtime.alive.empty());
    EXPECT_TRUE(runtime.disks.empty());
    store.write_error.reset();
    clock.advance(milliseconds(31'000));
    core->timers().sweep();  // a row that could not be erased goes as soon as it can
    drain();
    expect_nothing_left();
  }
}

TEST_F(CreateTest, WithoutWaitingAnswersAtOnceAndGetsReady) {
  runtime.hold_boots = true;
  const auto made = create("box", kNoWait);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->state, SandboxState::kProvisioning);
  runtime.release_boots();
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(CreateTest, WithoutWaitingAFailureIsSeenInTheRow) {
  runtime.boot_error = Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM"};
  ASSERT_TRUE(create("box", kNoWait));
  drain();
  const auto got = run(core->sandboxes().get(alice, "box"));
  EXPECT_EQ(got->state, SandboxState::kFailed);
  EXPECT_EQ(got->reason, "mount rootfs: EPERM");
  runtime.boot_error.reset();
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, "");
}

TEST_F(CreateTest, DeleteWhileBootingCancelsIt) {
  runtime.hold_boots = true;
  auto pending = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
  EXPECT_TRUE(run(core->sandboxes().remove(alice, "box")));
  EXPECT_EQ(finish(pending).error().reason, "deleted_while_starting");
  expect_nothing_left();
}

TEST_F(CreateTest, DeathWhileBootingIsAFailureNotAReadySandbox) {
  runtime.boot_time = milliseconds(10);
  auto pending = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
  core->registry().entries().at(0)->death = "init killed";
  EXPECT_EQ(finish(pending).error().reason, "sandbox_died");
  expect_nothing_left();
}

TEST_F(CreateTest, WhatCannotBeRemovedStaysDeletingAndIsTriedAgain) {
  runtime.boot_error = Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM"};
  runtime.destroy_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  ASSERT_FALSE(create("box"));
  EXPECT_EQ(state("box"), SandboxState::kDeleting);
  runtime.destroy_error.reset();
  clock.advance(milliseconds(31'000));
  core->timers().sweep();
  drain();
  expect_nothing_left();
}

}  // namespace
}  // namespace cay::core
