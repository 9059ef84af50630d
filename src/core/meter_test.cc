// The counted use: nothing twice and nothing lost, over stops, restarts and kills.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

class MeterTest : public CoreTest {
 protected:
  MeterTest() { EXPECT_TRUE(open()); }

  testing::FakeLiveSandbox& box() { return runtime.only_box(); }
  UsageTotals used(const std::string& name = "box") {
    auto got = run(core->usage().of(alice, name));
    EXPECT_TRUE(got) << got.error().message;
    return got ? *got : UsageTotals();
  }
  UsageReport report(UsageQuery query = {}) {
    auto got = run(core->usage().report(alice, std::move(query)));
    EXPECT_TRUE(got) << got.error().message;
    return got ? *got : UsageReport();
  }
};

TEST_F(MeterTest, CpuAddsUpOverStops) {
  ASSERT_TRUE(create("box"));
  box().numbers.cpu_usec = 100;
  EXPECT_EQ(used().cpu_usec, 100u);
  box().numbers.cpu_usec = 150;  // the last look is before the stop
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(used().cpu_usec, 150u);
  ASSERT_TRUE(run(core->commands().wake(alice, "box")));
  box().numbers.cpu_usec = 400;  // counters of a new life, larger than the old ones
  EXPECT_EQ(used().cpu_usec, 550u);
}

TEST_F(MeterTest, AKilledDaemonLosesNothingThatTheKernelCounts) {
  ASSERT_TRUE(create("box"));
  box().numbers.cpu_usec = 100;
  used();
  box().numbers.cpu_usec = 700;
  clock.advance(std::chrono::hours(1));
  ASSERT_TRUE(open());  // as by SIGKILL: nothing of the last look was written
  const auto totals = used();
  EXPECT_EQ(totals.cpu_usec, 700u);
  EXPECT_EQ(totals.running_ms, 3'600'000u);
  ASSERT_TRUE(open());
  EXPECT_EQ(used().cpu_usec, 700u);  // and nothing twice
}

TEST_F(MeterTest, AClockThatWasSetMeanwhileCountsNothing) {
  ASSERT_TRUE(create("box"));
  box().numbers.memory_bytes = 100 << 20;
  used();
  clock.set_wall_by(std::chrono::hours(24 * 365));
  ASSERT_TRUE(open());
  EXPECT_EQ(used().running_ms, 0u);
  EXPECT_EQ(used().memory_mib_ms, 0u);
}

TEST_F(MeterTest, WhatADeletedOneUsedIsWrittenBeforeTheAnswer) {
  ASSERT_TRUE(create("box"));
  used();
  box().numbers.cpu_usec = 700;
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  ASSERT_TRUE(open());  // as by SIGKILL
  EXPECT_EQ(run(core->usage().report(alice, {}))->all.totals.cpu_usec, 700u);
}

TEST_F(MeterTest, MemoryIsAddedUpAsTrapezoids) {
  ASSERT_TRUE(create("box"));
  box().numbers.memory_bytes = 100 << 20;
  used();
  clock.advance(std::chrono::seconds(10));
  box().numbers.memory_bytes = 300 << 20;
  EXPECT_EQ(used().memory_mib_ms, 2'000'000u);  // (100 + 300) / 2 MiB for 10,000 ms
}

TEST_F(MeterTest, OnlyRunningTimeIsRunningTime) {
  ASSERT_TRUE(create("box"));
  clock.advance(std::chrono::seconds(5));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.advance(std::chrono::seconds(100));
  EXPECT_EQ(used().running_ms, 5'000u);
  ASSERT_TRUE(run(core->commands().wake(alice, "box")));
  clock.advance(std::chrono::seconds(2));
  EXPECT_EQ(used().running_ms, 7'000u);
}

TEST_F(MeterTest, BytesThroughCayAreCounted) {
  runtime.program = [](const CommandSpec&) {
    testing::FakeProgram program;
    program.output.push_back({Stream::kStdout, "12345"});
    program.end = testing::exited(0);
    return program;
  };
  ASSERT_TRUE(create("box"));
  auto reader = run(core->commands().run(alice, "box", command("c1")));
  ASSERT_TRUE(reader);
  for (;;) {
    auto event = run((*reader)->next());
    ASSERT_TRUE(event);
    if (std::holds_alternative<OutputEnd>(*event)) break;
  }
  EXPECT_EQ(used().bytes_out, 5u);
}

TEST_F(MeterTest, SumsByLabelKeepThoseThatAreGone) {
  for (const char* name : {"one", "two"}) {
    SandboxSpec spec = named(name);
    spec.labels = {{"team", name}};
    ASSERT_TRUE(run(core->sandboxes().create(alice, spec, {})));
  }
  const auto one = run(core->sandboxes().get(alice, "one"));
  runtime.box(one->id).numbers.cpu_usec = 30;
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "one")));
  UsageQuery by_team;
  by_team.group_by = "team";
  const auto all = report(by_team);
  EXPECT_EQ(all.all.sandboxes, 2u);
  EXPECT_EQ(all.groups.at("one").totals.cpu_usec, 30u);
  EXPECT_EQ(all.groups.at("two").sandboxes, 1u);
  UsageQuery one_only;
  one_only.labels = {{"team", "one"}};
  EXPECT_EQ(report(one_only).all.sandboxes, 1u);
  ASSERT_TRUE(open());
  EXPECT_EQ(report(by_team).groups.at("one").totals.cpu_usec, 30u);
  EXPECT_EQ(run(core->usage().report(bob, {}))->all.sandboxes, 0u);
}

TEST_F(MeterTest, AnEndThatNobodySawKeepsWhatWasSeenBefore) {
  ASSERT_TRUE(create("box"));
  box().numbers.cpu_usec = 100;
  used();
  ASSERT_TRUE(run(core->usage().report(alice, {})));  // written
  const SandboxId id = runtime.alive.begin()->first;
  runtime.alive.erase(id);
  ASSERT_TRUE(open());
  EXPECT_EQ(used().cpu_usec, 100u);
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  box().numbers.cpu_usec = 120;
  EXPECT_EQ(used().cpu_usec, 220u);
}

TEST_F(MeterTest, ALookAtAllIsOneForEachThatRuns) {
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create("two"));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "two")));
  const auto now = run(core->usage().now(alice));
  ASSERT_TRUE(now);
  ASSERT_EQ(now->size(), 1u);
  EXPECT_EQ(now->at(0).sandbox.name, "one");
}

TEST_F(MeterTest, AnAnswerThatComesAfterTheStopAddsNothing) {
  ASSERT_TRUE(create("box"));
  box().numbers.memory_bytes = 1 << 30;
  clock.advance(Millis(1000));
  EXPECT_EQ(used().memory_mib_ms, 512u * 1000);
  auto& live = box();
  live.held = live.late = true;
  auto asking = begin(core->usage().now(alice));
  ASSERT_TRUE(
      run(core->sandboxes().stop(alice, "box")));  // with a look of its own, which is answered
  live.held = false;
  ASSERT_TRUE(finish(asking));
  EXPECT_EQ(used().memory_mib_ms, 512u * 1000) << "no time since 1970";
  clock.advance(Millis(5000));
  ASSERT_TRUE(run(core->commands().wake(alice, "box")));
  EXPECT_EQ(used().memory_mib_ms, 512u * 1000) << "nor the time it was stopped";
}

TEST_F(MeterTest, AnAnswerThatANewerOneOvertookCountsNothingTwice) {
  ASSERT_TRUE(create("box"));
  box().numbers.cpu_usec = 100;
  box().held = box().late = true;
  auto asking = begin(core->usage().now(alice));  // will answer 100
  box().numbers.cpu_usec = 1000;
  EXPECT_EQ(used().cpu_usec, 1000u);
  box().held = false;
  ASSERT_TRUE(finish(asking));
  EXPECT_EQ(used().cpu_usec, 1000u);
}

TEST_F(MeterTest, ASilentOneHoldsUpNoOthersNumbers) {
  for (const char* name : {"one", "two", "three", "four"}) ASSERT_TRUE(create(name));
  for (const auto& entry : core->registry().entries()) {
    auto& live = runtime.box(entry->row.id);
    live.silent = entry->row.name == "one";
    live.numbers.cpu_usec = 100;
  }
  auto asking = begin(core->usage().now(alice));
  for (const auto& entry : core->registry().entries())
    runtime.box(entry->row.id).numbers.cpu_usec = 300;
  for (const char* name : {"two", "three", "four"}) EXPECT_EQ(used(name).cpu_usec, 300u) << name;
  const auto now = finish(asking);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->size(), 3u);
  for (const char* name : {"two", "three", "four"}) EXPECT_EQ(used(name).cpu_usec, 300u) << name;
}

TEST_F(MeterTest, AReportAsksAllAtOnce) {
  for (const char* name : {"one", "two", "three", "four"}) ASSERT_TRUE(create(name));
  const auto each = [&](const auto& deed) {
    for (const auto& entry : core->registry().entries()) deed(runtime.box(entry->row.id));
  };
  each([](auto& live) {
    live.held = live.late = true;
    live.numbers.cpu_usec = 100;
  });
  auto asking = begin(core->usage().report(alice, {}));
  each([](auto& live) {  // an answer is as of its question
    live.numbers.cpu_usec = 1000;
    live.held = false;
  });
  const auto told = finish(asking);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->all.totals.cpu_usec, 400u);
}

TEST_F(MeterTest, AReportWaitsOnceForAllThatAreSilent) {
  for (const char* name : {"one", "two", "three", "four"}) ASSERT_TRUE(create(name));
  for (const auto& entry : core->registry().entries()) {
    auto& live = runtime.box(entry->row.id);
    live.silent = entry->row.name != "four";
    live.numbers.cpu_usec = 100;
  }
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(report().all.totals.cpu_usec, 100u);
  EXPECT_LT(std::chrono::steady_clock::now() - begun,
            std::chrono::milliseconds(3900));  // of 3 times 2 s
  for (const auto& entry : core->registry().entries()) runtime.box(entry->row.id).silent = false;
}

TEST_F(MeterTest, ManyAreRemovedAtOnceEachForItself) {
  for (int i = 0; i < 40; ++i) {
    SandboxSpec spec = named("box-" + std::to_string(i));
    spec.labels = {{"odd", i % 2 == 0 ? "no" : "yes"}};
    ASSERT_TRUE(run(core->sandboxes().create(alice, spec, {})));
  }
  RemovalQuery query;
  query.labels = {{"odd", "yes"}};
  query.refs = {"box-0", "none", "box-1"};
  const auto removed = run(core->sandboxes().remove_all(alice, query));
  ASSERT_TRUE(removed);
  ASSERT_EQ(removed->size(), 22u);  // box-1 is named, so it is not there twice
  EXPECT_FALSE(removed->at(1).done);
  EXPECT_TRUE(removed->at(2).done);
  EXPECT_EQ(store.rows.size(), 19u);
  RemovalQuery every;
  every.every = true;
  ASSERT_TRUE(run(core->sandboxes().remove_all(bob, every)));
  EXPECT_EQ(store.rows.size(), 19u);  // another tenant's all
  ASSERT_TRUE(run(core->sandboxes().remove_all(alice, every)));
  expect_nothing_left();
}

}  // namespace
}  // namespace cay::core
