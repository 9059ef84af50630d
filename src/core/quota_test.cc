// The limits of all sandboxes together and of each tenant, however many requests come at once.
#include <functional>
#include <random>

#include "core/core_fixture.h"

namespace cay::core {
namespace {

using std::chrono::milliseconds;
constexpr CreateOptions kNoWait{.wait_for_ready = false};

class QuotaTest : public CoreTest {};

TEST_F(QuotaTest, ConcurrentCreatesNeverPassTheSandboxLimit) {
  config.host.max_sandboxes = 3;
  ASSERT_TRUE(open());
  runtime.hold_boots = true;
  std::vector<std::shared_ptr<testing::Started<Sandbox>>> started;
  for (int i = 0; i < 8; ++i) {
    const milliseconds timeout(
        i < 3 ? 60'000 : 50);  // the first three have their places, and wait for the test alone
    started.push_back(begin(
        core->sandboxes().create(alice, named("b" + std::to_string(i)), {.timeout = timeout})));
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

// Admitted limits boot, whatever the owner changes meanwhile. The change counts from the next
// start.
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
  EXPECT_EQ(run(core->usage().summary(alice))->memory_used_bytes, runs);

  // A daemon that finds it counts what runs, not what its row has by now; what is started again is
  // what it was changed to.
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->usage().summary(alice))->memory_used_bytes, runs);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "before")));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "grows")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "grows")));
  drain();
  EXPECT_EQ(runtime.boots.back().limits.memory_bytes, 3ull << 30);
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->usage().summary(alice))->memory_used_bytes, 3ull << 30);
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
  EXPECT_EQ(
      refused.error().message,
      "memory is exhausted: requested 2048 MiB, which the host has not left; stop sandboxes, or "
      "ask for less");
  Principal root = alice;
  root.scope = KeyScope::kAdmin;
  const auto told =
      run(core->sandboxes().create(root, named("mine"), {.timeout = milliseconds(20)}));
  EXPECT_NE(told.error().message.find("(3072 MiB of 4096 MiB are given to running sandboxes)"),
            std::string::npos)
      << told.error().message;
  for (const auto& event : store.journal)
    EXPECT_EQ(event.reason.find("3072"), std::string::npos) << event.type << ": " << event.reason;
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

// Creates that together request more of one thing than there is. The sum of all begun boots never
// exceeds it.
class SumTest : public CoreTest {
 protected:
  struct Thing {
    std::string reason;
    std::uint64_t unit;  // requests are multiples of it
    std::function<void(Limits&, std::uint64_t)> ask;
    std::function<std::uint64_t(const Limits&)> of;
  };
  using Pending = std::shared_ptr<testing::Started<Sandbox>>;
  static constexpr std::uint64_t kUnits = 8;
  static constexpr std::uint64_t kMib = 1ull << 20;

  static Thing memory() {
    return {"quota_memory", 256 * kMib,
            [](Limits& limits, std::uint64_t value) { limits.memory_bytes = value; },
            [](const Limits& limits) { return limits.memory_bytes; }};
  }
  static Thing cpu() {
    return {"quota_cpu", 500,
            [](Limits& limits, std::uint64_t value) {
              limits.cpu_millicores = static_cast<std::uint32_t>(value);
            },
            [](const Limits& limits) { return std::uint64_t{limits.cpu_millicores}; }};
  }

  // Room for kUnits of the thing, and of nothing else a bound.
  void open_with(const Thing& thing) {
    config.host.memory_overcommit = config.host.cpu_overcommit = 1.0;
    config.host.max_parallel_boots = 1000;
    config.capacity = {};
    if (thing.reason == "quota_memory")
      config.capacity.memory_bytes = config.host.memory_reserve_bytes + kUnits * thing.unit;
    if (thing.reason == "quota_cpu")
      config.capacity.cpu_millicores = static_cast<std::uint32_t>(kUnits * thing.unit);
    ASSERT_TRUE(open());
  }
  Pending begin_one(const Thing& thing, const Principal& who, const std::string& name,
                    std::uint64_t units, milliseconds timeout) {
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
  // Those that fit wait for the test alone. Four units are free when the one of five comes, and
  // nobody of its tenant overtakes it.
  std::vector<Pending> fit = {begin_one(thing, alice, "a", 3, kLong),
                              begin_one(thing, bob, "b", 1, kLong)};
  const Pending large = begin_one(thing, alice, "large", 5, kShort);
  fit.push_back(begin_one(thing, alice, "c", 4, kLong));
  EXPECT_EQ(given(), 4 * thing.unit);
  EXPECT_EQ(finish(large).error().reason, thing.reason);
  EXPECT_EQ(given(), kUnits * thing.unit)
      << "what it waited for is had by the next one, to the last unit";
  std::vector<Pending> refused;
  refused.reserve(12);
  for (int i = 0; i < 12; ++i)
    refused.push_back(
        begin_one(thing, i % 2 == 0 ? alice : bob, "r" + std::to_string(i), 1, kShort));
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const auto got = finish(refused[i]);
    ASSERT_FALSE(got) << i;
    EXPECT_EQ(got.error().code, Code::kExhausted);
    EXPECT_EQ(got.error().reason, thing.reason);
    EXPECT_NE(got.error().message.find("exhausted: requested"), std::string::npos)
        << got.error().message;
    EXPECT_EQ(given(), kUnits * thing.unit);
  }
  runtime.release_boots();
  for (auto& one : fit) EXPECT_TRUE(finish(one));
  EXPECT_EQ(runtime.alive.size(), fit.size());
  EXPECT_EQ(store.rows.size(), fit.size());
  // A freed part is given once: of five that want its three units three get them.
  runtime.hold_boots = true;
  runtime.boots.clear();
  std::vector<Pending> next;
  next.reserve(5);
  for (int i = 0; i < 5; ++i)
    next.push_back(
        begin_one(thing, bob, "n" + std::to_string(i), 1, i < 3 ? kLong : milliseconds(200)));
  EXPECT_TRUE(runtime.boots.empty());
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "a")));
  drain();
  EXPECT_EQ(given(), 3 * thing.unit);
  for (int i = 3; i < 5; ++i)
    EXPECT_EQ(finish(next[static_cast<std::size_t>(i)]).error().reason, thing.reason);
  EXPECT_EQ(given(), 3 * thing.unit);
  runtime.release_boots();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(finish(next[i]));
  EXPECT_EQ(runtime.alive.size(), 5U);
}

// Creates of any size, some whose boot fails, some whose caller goes, and removals, for two hundred
// turns.
void SumTest::over_and_over(const Thing& thing) {
  open_with(thing);
  std::mt19937 random(7);
  struct UnderWay {
    std::string name;
    const Principal* who;
    Pending begun;
  };
  std::vector<UnderWay> under_way;
  int made = 0;
  int refused = 0;
  const auto check = [&] {
    std::uint64_t sum = 0;
    for (const auto& [id, box] : runtime.alive) sum += thing.of(box->boot_spec.limits);
    ASSERT_LE(sum, kUnits * thing.unit);
  };
  for (int turn = 0; turn < 200; ++turn) {
    const std::string name = "t" + std::to_string(turn);
    if (turn % 5 == 0)
      runtime.boot_script.push_back(Error{Code::kInternal, "mount_failed", "mount rootfs: EPERM"});
    const Principal& who = turn % 3 == 0 ? bob : alice;
    under_way.push_back(
        {name, &who, begin_one(thing, who, name, 1 + random() % 4, milliseconds(2))});
    if (under_way.size() < 6) continue;
    check();
    const auto at = under_way.begin() + static_cast<std::ptrdiff_t>(random() % under_way.size());
    auto [old, owner, begun] = *at;
    under_way.erase(at);
    if (turn % 7 == 0) {
      begun->cancel();
      drain();
      ASSERT_TRUE(begun->done());
      if (!begun->result) continue;
    }
    if (const auto got = finish(begun)) {
      ++made;
      ASSERT_TRUE(run(core->sandboxes().remove(*owner, old)));
    } else if (got.error().code == Code::kExhausted) {
      ++refused;
    }
    check();
  }
  for (auto& [name, owner, begun] : under_way) {
    if (finish(begun)) ASSERT_TRUE(run(core->sandboxes().remove(*owner, name)));
  }
  EXPECT_GT(made, 25);
  EXPECT_GT(refused, 25) << "the control: there was too little for all";
  expect_nothing_left();
  // All of it came back, and no more than that.
  runtime.boot_script.clear();
  EXPECT_TRUE(finish(begin_one(thing, alice, "whole", kUnits, milliseconds(60'000))));
  EXPECT_EQ(finish(begin_one(thing, alice, "more", 1, milliseconds(20))).error().reason,
            thing.reason);
}

// The waiters for room that others have. There are eight units, so a share of two tenants is four.
class TurnTest : public SumTest {
 protected:
  static constexpr milliseconds kLong{60'000};

  Pending ask(const Principal& who, const std::string& name, std::uint64_t units,
              milliseconds timeout = kLong) {
    return begin_one(memory(), who, name, units, timeout);
  }
  void give_back(const Principal& who, const std::string& name) {
    ASSERT_TRUE(run(core->sandboxes().remove(who, name)));
    drain();
  }
};

TEST_F(TurnTest, OneThatWaitsForMuchHoldsUpNoOtherTenant) {
  config.timing.overtake_limit = milliseconds(0);
  open_with(memory());
  ASSERT_TRUE(finish(ask(alice, "idle", 4)));
  ASSERT_TRUE(finish(ask(bob, "sleeps", 1)));
  ASSERT_TRUE(run(core->sandboxes().stop(bob, "sleeps")));
  const auto hostage_taker = ask(alice, "large", 6);
  EXPECT_TRUE(finish(ask(bob, "small", 1, milliseconds(20))));
  ASSERT_TRUE(run(core->sandboxes().start(bob, "sleeps")));
  EXPECT_TRUE(run(core->commands().run(bob, "sleeps", command("c1"))));
  EXPECT_EQ(runtime.alive.size(), 3U);
  EXPECT_FALSE(hostage_taker->done());
  // Nor do many of them, in one queue.
  std::vector<Pending> more;
  for (int i = 0; i < 5; ++i) more.push_back(ask(alice, "more" + std::to_string(i), 5));
  EXPECT_TRUE(finish(ask(bob, "another", 1, milliseconds(20))));
  give_back(alice, "idle");
  EXPECT_FALSE(hostage_taker->done()) << "five are free";
  give_back(bob, "another");
  EXPECT_TRUE(finish(hostage_taker));
  for (const auto& one : more) one->cancel();
  drain();
}

TEST_F(TurnTest, WithinATenantNobodyOvertakesButWhatExistsAlready) {
  open_with(memory());
  ASSERT_TRUE(finish(ask(alice, "sleeps", 2)));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "sleeps")));
  ASSERT_TRUE(finish(ask(alice, "full", 6)));
  const auto large = ask(alice, "large", 4);
  const auto small = ask(alice, "small", 1, milliseconds(20));
  EXPECT_EQ(finish(small).error().reason, "quota_queue")
      << "two units are free, and one that came before waits for four";
  EXPECT_TRUE(run(core->commands().run(alice, "sleeps", command("c1"))));
  EXPECT_FALSE(large->done());
  EXPECT_EQ(runtime.alive.size(), 2U);

  // The first of two that are woken is first, too.
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "sleeps")));
  const auto last = ask(alice, "last", 1);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "full")));
  drain();
  EXPECT_TRUE(finish(large)) << "what a stop gives back goes to the first create";
  EXPECT_TRUE(finish(last));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "full")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "sleeps")));
  drain();
  EXPECT_EQ(state("full"), SandboxState::kProvisioning);
  EXPECT_EQ(state("sleeps"), SandboxState::kProvisioning)
      << "three units are free, and one that came before waits for six";
  give_back(alice, "large");
  EXPECT_EQ(state("full"), SandboxState::kReady);
}

TEST_F(TurnTest, ALargeOneWithinItsShareIsServedAtLast) {
  config.timing.overtake_limit = milliseconds(500);
  open_with(memory());
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(finish(ask(bob, "b" + std::to_string(i), 1)));
  const auto large = ask(alice, "large", 4);
  EXPECT_TRUE(finish(ask(bob, "overtakes", 1, milliseconds(20)))) << "for a time";
  loop.restart();
  loop.run_for(milliseconds(550));
  // Bob requests again each one that he gives back.
  std::vector<Pending> again;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(large->done());
    again.push_back(ask(bob, "again" + std::to_string(i), 1));
    give_back(bob, "b" + std::to_string(i));
    EXPECT_FALSE(again.back()->done()) << "he has more than his share";
  }
  EXPECT_TRUE(finish(large));
  for (const auto& one : again) EXPECT_FALSE(one->done());
  // Room that he gives back now is kept for nobody.
  give_back(bob, "b4");
  EXPECT_TRUE(finish(again[0]));
  give_back(alice, "large");
  for (std::size_t i = 1; i < again.size(); ++i) EXPECT_TRUE(finish(again[i]));
}

TEST_F(TurnTest, NothingIsKeptForWhoeverWouldHaveMoreThanItsShare) {
  config.timing.overtake_limit = milliseconds(0);
  open_with(memory());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(finish(ask(bob, "b" + std::to_string(i), 1)));
  const auto large = ask(alice, "large", 5);
  EXPECT_TRUE(finish(ask(bob, "more", 2, milliseconds(20))))
      << "though seven are more than his share";
  EXPECT_FALSE(large->done());
  for (int i = 0; i < 4; ++i) give_back(bob, "b" + std::to_string(i));
  EXPECT_TRUE(finish(large));
}

TEST_F(TurnTest, TenantsAreServedInTurn) {
  open_with(memory());
  const Principal carol{TenantId("c"), "carol"};
  ASSERT_TRUE(finish(ask(alice, "all", 8)));
  std::vector<Pending> of_alice, of_others;
  for (int i = 0; i < 4; ++i) of_alice.push_back(ask(alice, "a" + std::to_string(i), 2));
  for (int i = 0; i < 2; ++i)
    of_others.push_back(ask(i == 0 ? bob : carol, "o" + std::to_string(i), 2));
  give_back(alice, "all");
  for (const auto& one : of_others) EXPECT_TRUE(finish(one)) << "they came last";
  EXPECT_TRUE(finish(of_alice[0]));
  EXPECT_TRUE(finish(of_alice[1]));
  EXPECT_FALSE(of_alice[2]->done());
  EXPECT_FALSE(of_alice[3]->done());
}

TEST_F(SumTest, ConcurrentCreatesNeverPassTheMemory) { many_at_once(memory()); }
TEST_F(SumTest, ConcurrentCreatesNeverPassTheCpu) { many_at_once(cpu()); }
TEST_F(SumTest, MemoryIsGivenOnceHoweverCreatesEnd) { over_and_over(memory()); }
TEST_F(SumTest, CpuIsGivenOnceHoweverCreatesEnd) { over_and_over(cpu()); }

}  // namespace
}  // namespace cay::core
