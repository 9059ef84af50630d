// The journal as the core keeps it: every change of state, every command's start and end, once
// each.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

using testing::FakeProgram;
using Told = std::vector<std::string>;

class EventsTest : public CoreTest {
 protected:
  EventsTest() { EXPECT_TRUE(open()); }

  // Returns the journal's events, once those of commands are written too.
  Told told() {
    drain();
    EXPECT_TRUE(store.flush_events());
    return store.told();
  }
  Result<EventPage> read(EventQuery query) {
    return run(core->events().read(alice, std::move(query)));
  }
  static EventQuery after(std::uint64_t seq) {
    EventQuery query;
    query.after = seq;
    return query;
  }
  void runs_on() {
    runtime.program = [](const CommandSpec&) { return FakeProgram{{}, {}, {}, false, false}; };
  }
  Result<Command> start(const std::string& box, const std::string& id) {
    return run(core->commands().start(alice, box, command(id)));
  }
};

TEST_F(EventsTest, ASandboxsLifeIsTold) {
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(run(core->commands().wake(alice, "box")));
  SandboxPatch patch;
  patch.labels = std::map<std::string, std::string>{{"team", "a"}};
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  EXPECT_EQ(told(), (Told{"sandbox.created box", "sandbox.started box", "sandbox.stopped box",
                          "sandbox.starting box", "sandbox.started box", "sandbox.updated box",
                          "sandbox.deleting box", "sandbox.deleted box"}));
  EXPECT_EQ(store.journal.back().labels, (std::map<std::string, std::string>{{"team", "a"}}));
}

TEST_F(EventsTest, WhoAskedIsNamed) {
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create("two"));
  ASSERT_TRUE(start("one", "c1"));
  const auto by_of = [this](const std::string& type) {
    told();
    std::vector<std::string> out;
    for (const auto& event : store.journal) {
      if (event.type == type) out.push_back(event.sandbox + " by " + event.by);
    }
    return out;
  };
  EXPECT_EQ(by_of("command.started"), Told{"one by alice"});
  // A look at a file wakes it, and the changes have no other line of that.
  Principal reader = alice;
  reader.key_name = "reader";
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "two")));
  ASSERT_TRUE(run(core->files().stat(reader, "two", "/", {}, true)));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "two")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "two")));
  drain();
  EXPECT_EQ(by_of("sandbox.starting"), (Told{"two by reader", "two by alice"}));
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "one")));
  SandboxPatch patch;
  patch.policy = "off";
  ASSERT_TRUE(run(core->sandboxes().update(alice, "two", patch)));
  EXPECT_EQ(by_of("sandbox.updated"), Told{"two by alice"});
  RemovalQuery all;
  all.every = true;
  Principal other = alice;
  other.key_name = "other";
  ASSERT_TRUE(run(core->sandboxes().remove_all(other, all)));
  EXPECT_EQ(by_of("sandbox.deleting"), (Told{"one by alice", "two by other"}));
  EXPECT_EQ(by_of("sandbox.deleted"), (Told{"one by alice", "two by other"}));
  SandboxSpec brief = named("brief");
  brief.lifetime_s = 60;
  ASSERT_TRUE(run(core->sandboxes().create(alice, std::move(brief), CreateOptions{})));
  clock.advance(std::chrono::seconds(61));
  core->timers().sweep();
  drain();
  EXPECT_EQ(by_of("sandbox.deleted").back(), "brief by ") << "nobody did";
}

// A reader of the journal sees that a sandbox was opened, and whether it lasts.
TEST_F(EventsTest, EveryChangeOfItsSettingsIsTold) {
  ASSERT_TRUE(create("box"));
  std::vector<SandboxPatch> patches(9);
  patches[0].name = "other";
  patches[1].policy = "off";
  patches[2].idle_ttl_s = 60;
  patches[3].delete_after_stop_s = 60;
  patches[4].lifetime_s = 60'000;
  patches[5].commands_keep_awake = true;
  patches[6].run = RunConfig{"user", {}, {{"A", "b"}}};
  patches[7].memory_bytes = 64 << 20;
  patches[8].labels = std::map<std::string, std::string>{{"team", "a"}};
  std::string name = "box";
  for (std::size_t i = 0; i < patches.size(); ++i) {
    const auto before = told().size();
    for (int twice = 0; twice < 2; ++twice) {
      const auto changed = run(core->sandboxes().update(alice, name, patches[i]));
      ASSERT_TRUE(changed) << i << ": " << changed.error().message;
      name = changed->name;
    }
    const auto after = told();
    EXPECT_EQ(after.size(), before + 1)
        << "patch " << i << ": told once, and nothing where nothing changed";
    EXPECT_EQ(after.back(), "sandbox.updated " + name) << "patch " << i;
  }
}

TEST_F(EventsTest, AFailureIsToldWithItsReason) {
  ASSERT_TRUE(create("box"));
  runtime.die(runtime.only_box().boot_spec.id, "keeper lost");
  EXPECT_EQ(told().back(), "sandbox.failed box");
  EXPECT_EQ(store.journal.back().reason, "keeper lost");
}

TEST_F(EventsTest, ACommandIsToldOnceEachWay) {
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("box", "c1"));
  ASSERT_TRUE(start("box", "c1"));  // a repeat is no second start
  EXPECT_EQ(told(), (Told{"sandbox.created box", "sandbox.started box", "command.started box c1",
                          "command.ended box c1 exited"}));
  EXPECT_EQ(store.journal.back().exit_code, 0);
}

TEST_F(EventsTest, AnEndThatNobodyWaitsForIsTold) {
  runs_on();
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("box", "c1"));
  EXPECT_EQ(told().back(), "command.started box c1");
  runtime.only_box().fake_commands().end(CommandId("c1"), testing::exited(3));
  EXPECT_EQ(told().back(), "command.ended box c1 exited");
  EXPECT_EQ(store.journal.back().exit_code, 3);
}

TEST_F(EventsTest, EndsThatHappenedWhileTheDaemonWasAwayAreToldAfterIt) {
  runs_on();
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("box", "c1"));
  ASSERT_TRUE(start("box", "c2"));
  const auto before = told().size();
  auto& commands = runtime.only_box().fake_commands();
  commands.on_end = nullptr;  // nobody listens
  commands.end(CommandId("c1"), testing::exited(9));
  ASSERT_TRUE(open());
  const auto after = told();
  ASSERT_EQ(after.size(), before + 1) << ::testing::PrintToString(after);
  EXPECT_EQ(after.back(), "command.ended box c1 exited");
  runtime.only_box().fake_commands().end(CommandId("c2"), testing::exited(0));
  EXPECT_EQ(told().back(), "command.ended box c2 exited");
}

TEST_F(EventsTest, ACommandWhoseStartWasNotWrittenBeforeAKillIsToldAfterIt) {
  ASSERT_TRUE(create("box"));
  CommandSpec spec = command("c1");
  ASSERT_TRUE(run(runtime.only_box().start(spec)));  // as if the daemon died before it wrote
  ASSERT_TRUE(open());
  EXPECT_EQ(told(), (Told{"sandbox.created box", "sandbox.started box", "command.started box c1",
                          "command.ended box c1 exited"}));
  ASSERT_TRUE(open());
  EXPECT_EQ(told().size(), 4u);  // and only once
}

TEST_F(EventsTest, AStopEndsItsCommands) {
  runs_on();
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(start("box", "c1"));
  runtime.only_box().fake_commands().on_end = nullptr;  // its word is lost
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(told().back(), "command.ended box c1 killed");
  EXPECT_EQ(store.journal.back().by, "sandbox stop");
}

TEST_F(EventsTest, NumbersHaveNoHolesAndTenantsSeeTheirOwn) {
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(run(core->sandboxes().create(bob, named("other"), {})));
  ASSERT_TRUE(create("two"));
  const auto page = read(after(0));
  ASSERT_TRUE(page);
  std::uint64_t expected = 1;
  for (const auto& event : page->items) {
    EXPECT_EQ(event.seq, expected++);
    EXPECT_NE(event.sandbox, "other");
  }
  EXPECT_EQ(page->items.size(), 4u);
  EXPECT_EQ(page->next_after, 4u);
}

TEST_F(EventsTest, WhatIsNoLongerKeptIsAGap) {
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create("two"));
  store.pruned_through[alice.tenant] = 3;
  const auto page = read(after(1));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->gap_begin, 2u);
  EXPECT_EQ(page->gap_end, 3u);
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].seq, 4u);
  EXPECT_EQ(read(after(3))->gap_begin, 0u);
  EXPECT_EQ(read(after(99)).error().reason, "event_ahead");
}

TEST_F(EventsTest, AFollowerSleepsUntilSomethingHappens) {
  ASSERT_TRUE(create("box"));
  auto waiting = begin(core->events().follow(alice, after(2), std::chrono::seconds(30)));
  EXPECT_FALSE(waiting->done());
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  const auto page = finish(waiting);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.at(0).type, "sandbox.stopped");
  auto last = begin(core->events().follow(alice, after(3), std::chrono::seconds(30)));
  core->events().end();
  EXPECT_TRUE(finish(last)->items.empty());
}

TEST_F(EventsTest, AFilterLeavesOutAndGoesOn) {
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create("two"));
  ASSERT_TRUE(start("two", "c1"));
  told();
  EventQuery query = after(0);
  query.sandbox = "two";
  query.types = {"command."};
  const auto page = read(query);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->next_after, page->last);
}

}  // namespace
}  // namespace cay::core
