#include <boost/asio/post.hpp>
#include <functional>
#include <random>

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
  for (int i = 0; i < 16; ++i) spec.labels[std::string(1, static_cast<char>('a' + i))] = std::string(1023, 'x');
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{}))) << "16 KiB to the byte";
  SandboxPatch patch;
  Labels over = spec.labels;
  over.begin()->second += 'x';
  patch.labels = over;
  const auto more = run(core->sandboxes().update(alice, "box", patch));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().reason, "invalid_labels");
  EXPECT_NE(more.error().message.find("16385"), std::string::npos) << more.error().message;
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"a\nb", ""}, {"k", "\x1b[2J"}, {"k", "\x7f"}, {"k", std::string(1, '\0')}}) {
    patch.labels = Labels{std::pair(key, value)};
    const auto refused = run(core->sandboxes().update(alice, "box", patch));
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().reason, "invalid_labels");
  }
  patch.labels = Labels{std::pair("Ümlaut", "\"é\"")};
  EXPECT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
}

// Rows of before such a bound keep what they have, and what else is changed of them asks nothing of it.
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
  EXPECT_EQ(run(core->sandboxes().create(alice, std::move(off), CreateOptions{}))->network.state, NetworkState::kOff);
}

TEST_F(CreateTest, APolicyAskedForByNameIsHadOrRefused) {
  runtime.no_network = "no such module";
  SandboxSpec spec = named("box");
  spec.policy = "packages";
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, CreateOptions{})).error().reason, "network_unsupported");
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
  EXPECT_EQ(run(core->sandboxes().network(alice, "box"))->running_policy, "off");
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  const auto network = run(core->sandboxes().network(alice, "box"));
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
    auto got = co_await core->sandboxes().network(alice, "box");
    done = true;
    co_return got;
  };
  const auto report = run(look());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->needed.size(), 32U);
  EXPECT_GT(turns, 1'000);
}

TEST_F(CreateTest, APolicyThatTheOperatorForbidsIsNotHadByAChangeEither) {
  config.defaults.policies = std::make_shared<const policy::Catalogue>(*policy::Catalogue::make({}, {"off", "packages"}));
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  SandboxPatch patch;
  patch.policy = "open";
  EXPECT_EQ(run(core->sandboxes().update(alice, "box", patch)).error().reason, "policy_not_allowed");
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

// What unmakes it may hang: then it is seen, and not as one that is still coming up.
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

class QuotaTest : public CoreTest {};

TEST_F(QuotaTest, ConcurrentCreatesNeverPassTheSandboxLimit) {
  config.host.max_sandboxes = 3;
  ASSERT_TRUE(open());
  runtime.hold_boots = true;
  std::vector<std::shared_ptr<testing::Started<Sandbox>>> started;
  for (int i = 0; i < 8; ++i) {
    const milliseconds timeout(i < 3 ? 60'000 : 50);  // the first three have their places, and wait for the test alone
    started.push_back(begin(core->sandboxes().create(alice, named("b" + std::to_string(i)), {.timeout = timeout})));
    EXPECT_LE(store.rows.size(), 3U);
  }
  runtime.release_boots();
  int made = 0;
  for (auto& one : started) {
    auto got = finish(one);
    if (got) {
      ++made;
    } else {
      EXPECT_EQ(got.error().code, Code::kExhausted);
      EXPECT_EQ(got.error().reason, "quota_sandboxes");
      EXPECT_NE(got.error().message.find("sandbox limit"), std::string::npos);
    }
  }
  EXPECT_EQ(made, 3);
  EXPECT_EQ(store.rows.size(), 3U);
}

TEST_F(QuotaTest, WaitsForASlotAndGetsItWhenOneIsFreed) {
  config.host.max_sandboxes = 1;
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("first"));
  auto waiting = begin(core->sandboxes().create(alice, named("second"), CreateOptions{}));
  EXPECT_FALSE(waiting->done());
  // Another tenant is not held up.
  EXPECT_TRUE(run(core->sandboxes().create(bob, named("theirs"), CreateOptions{})));
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "first")));
  EXPECT_TRUE(finish(waiting));
  EXPECT_EQ(create("third", kNoWait).error().reason, "quota_sandboxes");
}

TEST_F(QuotaTest, MemoryIsNeverOverAdmitted) {
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (1ull << 30);
  config.host.memory_overcommit = 4.0;  // room for two of 2 GiB
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create("two"));
  const auto third = create("three", {.timeout = milliseconds(20)});
  EXPECT_EQ(third.error().reason, "quota_memory");
  EXPECT_EQ(runtime.alive.size(), 2U);
  EXPECT_EQ(store.rows.size(), 2U);
  auto waiting = begin(core->sandboxes().create(alice, named("four"), CreateOptions{}));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "one")));
  EXPECT_TRUE(finish(waiting));
}

// What is admitted is what boots, whatever its owner asks for meanwhile; that counts from the next start.
TEST_F(QuotaTest, LimitsThatAreChangedInTheQueueBootNothingLarger) {
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (4ull << 30);
  config.host.memory_overcommit = 1.0;
  config.host.max_parallel_boots = 1;
  config.defaults.maximum.memory_bytes = 64ull << 30;
  ASSERT_TRUE(open());
  runtime.hold_boots = true;
  ASSERT_TRUE(create("before", kNoWait));  // has the one place to boot
  SandboxSpec small = named("grows");
  small.limits.memory_bytes = 16ull << 20;
  ASSERT_TRUE(run(core->sandboxes().create(alice, std::move(small), kNoWait)));
  drain();
  SandboxPatch patch;
  patch.memory_bytes = 3ull << 30;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "grows", patch)));
  runtime.release_boots();
  drain();
  ASSERT_EQ(runtime.boots.size(), 2U);
  EXPECT_EQ(runtime.boots[1].limits.memory_bytes, 16ull << 20);
  const std::uint64_t runs = config.defaults.limits.memory_bytes + (16ull << 20);
  EXPECT_EQ(run(core->sandboxes().usage(alice))->memory_used_bytes, runs);

  // A daemon that finds it counts what runs, not what its row has by now; what is started again is what it was changed to.
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->sandboxes().usage(alice))->memory_used_bytes, runs);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "before")));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "grows")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "grows")));
  drain();
  EXPECT_EQ(runtime.boots.back().limits.memory_bytes, 3ull << 30);
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->sandboxes().usage(alice))->memory_used_bytes, 3ull << 30);
}

// A budget is of all tenants together: how much of it is given is what the others have.
TEST_F(QuotaTest, WhatTheOthersHoldIsToldToTheOperatorAlone) {
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (1ull << 30);
  config.host.memory_overcommit = 4.0;
  ASSERT_TRUE(open());
  SandboxSpec large = named("theirs");
  large.limits.memory_bytes = 3ull << 30;
  ASSERT_TRUE(run(core->sandboxes().create(bob, std::move(large), CreateOptions{})));
  const auto refused = create("mine", {.timeout = milliseconds(20)});
  EXPECT_EQ(refused.error().reason, "quota_memory");
  EXPECT_EQ(refused.error().message, "memory is exhausted: asked 2048 MiB, which the host has not left; stop sandboxes, or ask for less");
  Principal root = alice;
  root.scope = KeyScope::kAdmin;
  const auto told = run(core->sandboxes().create(root, named("mine"), {.timeout = milliseconds(20)}));
  EXPECT_NE(told.error().message.find("(3072 MiB of 4096 MiB are given to running sandboxes)"), std::string::npos) << told.error().message;
  for (const auto& event : store.journal) EXPECT_EQ(event.reason.find("3072"), std::string::npos) << event.type << ": " << event.reason;
}

TEST_F(QuotaTest, AWakeThatFindsNoRoomSaysWhatIsExhausted) {
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (1ull << 30);
  config.host.memory_overcommit = 2.0;  // room for one of 2 GiB
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "one")));
  ASSERT_TRUE(create("two"));
  const auto woken = run(core->tunnels().open(alice, "one", 80));
  EXPECT_EQ(woken.error().code, Code::kExhausted);
  EXPECT_EQ(woken.error().reason, "quota_memory");
}

TEST_F(QuotaTest, WhatNeverFitsIsRefusedAtOnce) {
  config.capacity.cpu_millicores = 1000;
  config.host.cpu_overcommit = 0.5;
  ASSERT_TRUE(open());
  const auto made = create("box");  // with the usual 30 s to wait
  EXPECT_EQ(made.error().reason, "quota_cpu");
  expect_nothing_left();
}

TEST_F(QuotaTest, FullDiskNamesStorage) {
  config.capacity.free_disk_bytes = [] { return std::uint64_t{0}; };
  ASSERT_TRUE(open());
  const auto made = create("box", {.timeout = milliseconds(20)});
  EXPECT_EQ(made.error().reason, "quota_storage");
  EXPECT_NE(made.error().message.find("storage"), std::string::npos);
  expect_nothing_left();
}

TEST_F(QuotaTest, BootsInParallelAreBounded) {
  config.host.max_parallel_boots = 2;
  ASSERT_TRUE(open());
  runtime.hold_boots = true;
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(create("b" + std::to_string(i), kNoWait));
  drain();
  EXPECT_EQ(runtime.booting, 2);
  runtime.release_boots();
  drain();
  EXPECT_EQ(runtime.most_booting, 2);
  EXPECT_EQ(runtime.alive.size(), 6U);
}

// Creates that together ask for more of one thing than there is: what was given, of all whose boots were begun, is never more.
class SumTest : public CoreTest {
 protected:
  struct Thing {
    std::string reason;
    std::uint64_t unit;  // what is asked for is so many times it
    std::function<void(Limits&, std::uint64_t)> ask;
    std::function<std::uint64_t(const Limits&)> of;
  };
  using Begun = std::shared_ptr<testing::Started<Sandbox>>;
  static constexpr std::uint64_t kUnits = 8;
  static constexpr std::uint64_t kMib = 1ull << 20;

  static Thing memory() {
    return {"quota_memory", 256 * kMib, [](Limits& limits, std::uint64_t value) { limits.memory_bytes = value; },
            [](const Limits& limits) { return limits.memory_bytes; }};
  }
  static Thing cpu() {
    return {"quota_cpu", 500, [](Limits& limits, std::uint64_t value) { limits.cpu_millicores = static_cast<std::uint32_t>(value); },
            [](const Limits& limits) { return std::uint64_t{limits.cpu_millicores}; }};
  }

  // Room for kUnits of the thing, and of nothing else a bound.
  void open_with(const Thing& thing) {
    config.host.memory_overcommit = config.host.cpu_overcommit = 1.0;
    config.host.max_parallel_boots = 1000;
    config.capacity = {};
    if (thing.reason == "quota_memory") config.capacity.memory_bytes = config.host.memory_reserve_bytes + kUnits * thing.unit;
    if (thing.reason == "quota_cpu") config.capacity.cpu_millicores = static_cast<std::uint32_t>(kUnits * thing.unit);
    ASSERT_TRUE(open());
  }
  Begun begin_one(const Thing& thing, const Principal& who, const std::string& name, std::uint64_t units, milliseconds timeout) {
    SandboxSpec spec = named(name);
    thing.ask(spec.limits, units * thing.unit);
    return begin(core->sandboxes().create(who, std::move(spec), {.timeout = timeout}));
  }

  void many_at_once(const Thing& thing);
  void over_and_over(const Thing& thing);
};

void SumTest::many_at_once(const Thing& thing) {
  open_with(thing);
  runtime.hold_boots = true;
  const auto given = [&] {
    std::uint64_t sum = 0;
    for (const BootSpec& spec : runtime.boots) sum += thing.of(spec.limits);
    return sum;
  };
  constexpr milliseconds kLong{60'000};
  constexpr milliseconds kShort{50};
  // Those that fit wait for the test alone. Four units are free when the one of five comes, and nobody overtakes it.
  std::vector<Begun> fit = {begin_one(thing, alice, "a", 3, kLong), begin_one(thing, bob, "b", 1, kLong)};
  const Begun large = begin_one(thing, alice, "large", 5, kShort);
  fit.push_back(begin_one(thing, bob, "c", 4, kLong));
  EXPECT_EQ(given(), 4 * thing.unit);
  EXPECT_EQ(finish(large).error().reason, thing.reason);
  EXPECT_EQ(given(), kUnits * thing.unit) << "what it waited for is had by the next one, to the last unit";
  std::vector<Begun> refused;
  refused.reserve(12);
  for (int i = 0; i < 12; ++i) refused.push_back(begin_one(thing, i % 2 == 0 ? alice : bob, "r" + std::to_string(i), 1, kShort));
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const auto got = finish(refused[i]);
    ASSERT_FALSE(got) << i;
    EXPECT_EQ(got.error().code, Code::kExhausted);
    EXPECT_EQ(got.error().reason, thing.reason);
    EXPECT_NE(got.error().message.find("exhausted: asked"), std::string::npos) << got.error().message;
    EXPECT_EQ(given(), kUnits * thing.unit);
  }
  runtime.release_boots();
  for (auto& one : fit) EXPECT_TRUE(finish(one));
  EXPECT_EQ(runtime.alive.size(), fit.size());
  EXPECT_EQ(store.rows.size(), fit.size());
  // What ends is given once: of five that want its three units three have them.
  runtime.hold_boots = true;
  runtime.boots.clear();
  std::vector<Begun> next;
  next.reserve(5);
  for (int i = 0; i < 5; ++i) next.push_back(begin_one(thing, bob, "n" + std::to_string(i), 1, i < 3 ? kLong : milliseconds(200)));
  EXPECT_TRUE(runtime.boots.empty());
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "a")));
  drain();
  EXPECT_EQ(given(), 3 * thing.unit);
  for (int i = 3; i < 5; ++i) EXPECT_EQ(finish(next[static_cast<std::size_t>(i)]).error().reason, thing.reason);
  EXPECT_EQ(given(), 3 * thing.unit);
  runtime.release_boots();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(finish(next[i]));
  EXPECT_EQ(runtime.alive.size(), 5U);
}

// Creates of any size, some whose boot fails, some whose caller goes, and removals, for two hundred turns.
void SumTest::over_and_over(const Thing& thing) {
  open_with(thing);
  std::mt19937 random(7);
  std::vector<std::pair<std::string, Begun>> under_way;
  int made = 0;
  int refused = 0;
  const auto check = [&] {
    std::uint64_t sum = 0;
    for (const auto& [id, box] : runtime.alive) sum += thing.of(box->boot_spec.limits);
    ASSERT_LE(sum, kUnits * thing.unit);
  };
  for (int turn = 0; turn < 200; ++turn) {
    const std::string name = "t" + std::to_string(turn);
    if (turn % 5 == 0) runtime.boot_script.push_back(Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM"});
    under_way.emplace_back(name, begin_one(thing, alice, name, 1 + random() % 4, milliseconds(2)));
    if (under_way.size() < 6) continue;
    check();
    const auto at = under_way.begin() + static_cast<std::ptrdiff_t>(random() % under_way.size());
    auto [old, begun] = *at;
    under_way.erase(at);
    if (turn % 7 == 0) {
      begun->cancel();
      drain();
      ASSERT_TRUE(begun->done());
      if (!begun->result) continue;
    }
    if (const auto got = finish(begun)) {
      ++made;
      ASSERT_TRUE(run(core->sandboxes().remove(alice, old)));
    } else if (got.error().code == Code::kExhausted) {
      ++refused;
    }
    check();
  }
  for (auto& [name, begun] : under_way) {
    if (finish(begun)) ASSERT_TRUE(run(core->sandboxes().remove(alice, name)));
  }
  EXPECT_GT(made, 25);
  EXPECT_GT(refused, 25) << "the control: there was too little for all";
  expect_nothing_left();
  // All of it came back, and no more than that.
  runtime.boot_script.clear();
  EXPECT_TRUE(finish(begin_one(thing, alice, "whole", kUnits, milliseconds(60'000))));
  EXPECT_EQ(finish(begin_one(thing, alice, "more", 1, milliseconds(20))).error().reason, thing.reason);
}

TEST_F(SumTest, ConcurrentCreatesNeverPassTheMemory) { many_at_once(memory()); }
TEST_F(SumTest, ConcurrentCreatesNeverPassTheCpu) { many_at_once(cpu()); }
TEST_F(SumTest, MemoryIsGivenOnceHoweverCreatesEnd) { over_and_over(memory()); }
TEST_F(SumTest, CpuIsGivenOnceHoweverCreatesEnd) { over_and_over(cpu()); }

}  // namespace
}  // namespace cay::core
