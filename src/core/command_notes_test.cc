// Starts and ends as a keeper's notes: once each in the journal, wherever the daemon is killed.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

using testing::FakeProgram;
using Told = std::vector<std::string>;

class CommandNotesTest : public CoreTest {
 protected:
  CommandNotesTest() {
    runtime.program = [](const CommandSpec&) {
      return FakeProgram{{}, {}, {}, false, false};
    };  // runs on
    EXPECT_TRUE(open());
    EXPECT_TRUE(create("box"));
    commands().keeps_notes = true;
  }
  testing::FakeCommands& commands() { return runtime.only_box().fake_commands(); }
  void start(const std::string& id) {
    EXPECT_TRUE(run(core->commands().start(alice, "box", command(id))));
  }
  void end(const std::string& id, int code) {
    commands().end(CommandId(id), testing::exited(code));
  }
  // By SIGKILL: what was not written is gone.
  void kill_and_restart() {
    commands().listen({}, [](NoteMark, const Command&) {});
    store.lose_held();
    ASSERT_TRUE(open());
  }
  // Returns the events of commands, once the journal and the keeper have settled.
  Told told() {
    for (int i = 0; i < 200 && !commands().notes.empty(); ++i) {
      loop.restart();
      loop.run_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(commands().notes.empty());
    Told out;
    for (auto& line : store.told()) {
      if (line.starts_with("command.")) out.push_back(line);
    }
    return out;
  }
};

TEST_F(CommandNotesTest, AreOnRecordBeforeTheKeeperForgetsThem) {
  start("c1");
  end("c1", 3);
  EXPECT_FALSE(commands().notes.empty())
      << "the keeper still has the end";  // a busy host may have had time for the start
  EXPECT_EQ(told(), (Told{"command.started box c1", "command.ended box c1 exited"}));
  EXPECT_EQ(store.journal.back().exit_code, 3);
  EXPECT_EQ(store.journal.back().note.number, 2u);
}

TEST_F(CommandNotesTest, WhatWasNotWrittenIsToldAfterAKillThoughTheCommandIsGone) {
  start("c1");
  end("c1", 4);
  commands().table.clear();  // a ttl of 0, or forgotten
  kill_and_restart();
  EXPECT_EQ(told(), (Told{"command.started box c1", "command.ended box c1 exited"}));
  EXPECT_EQ(store.journal.back().exit_code, 4);
}

TEST_F(CommandNotesTest, AnEndThatWasNotWrittenIsNotLost) {
  start("c1");
  ASSERT_TRUE(store.flush_events());
  end("c1", 5);
  commands().table.clear();
  kill_and_restart();
  EXPECT_EQ(told(), (Told{"command.started box c1", "command.ended box c1 exited"}));
}

TEST_F(CommandNotesTest, WhatWasWrittenAndNotConfirmedIsToldOnceAlsoIfItWasPruned) {
  start("c1");
  end("c1", 0);
  ASSERT_TRUE(store.flush_events());
  // As if pruned: nothing of it but the number is left.
  const NoteMark mark = store.journal.back().note;
  std::erase_if(store.journal,
                [](const EventRecord& event) { return event.command_id == CommandId("c1"); });
  store.journal.back().note = mark;
  EXPECT_FALSE(commands().notes.empty());
  kill_and_restart();
  EXPECT_EQ(told(), Told());
}

TEST_F(CommandNotesTest, AStoreThatFailsKeepsTheKeeperRemembering) {
  store.write_error = Error{Code::kInternal, "disk_full", "no room", 0};
  start("c1");
  end("c1", 0);
  loop.restart();
  loop.run_for(std::chrono::milliseconds(100));
  EXPECT_EQ(commands().notes.size(), 2u);
  store.write_error.reset();
  kill_and_restart();
  EXPECT_EQ(told(), (Told{"command.started box c1", "command.ended box c1 exited"}));
}

TEST_F(CommandNotesTest, AnotherLifeOfTheKeeperCountsAnew) {
  start("c1");
  end("c1", 0);
  told();
  commands().life = 8;
  commands().count_anew();
  start("c2");
  end("c2", 0);
  EXPECT_EQ(told(), (Told{"command.started box c1", "command.ended box c1 exited",
                          "command.started box c2", "command.ended box c2 exited"}));
}

TEST_F(CommandNotesTest, ALookDoesNotTellWhatANoteWillTell) {
  start("c1");
  end("c1", 0);
  // The listing knows both; the notes come again besides.
  kill_and_restart();
  EXPECT_EQ(told(), (Told{"command.started box c1", "command.ended box c1 exited"}));
  kill_and_restart();
  EXPECT_EQ(told().size(), 2u);
}

TEST_F(CommandNotesTest, AnEndOfAnEarlierLifeIsAskedFor) {
  start("c1");
  ASSERT_TRUE(store.flush_events());
  end("c1", 6);
  commands().notes.clear();  // they were that life's
  commands().life = 8;
  commands().count_anew();
  kill_and_restart();
  drain();
  ASSERT_TRUE(store.flush_events());
  EXPECT_EQ(told(), (Told{"command.started box c1", "command.ended box c1 exited"}));
}

}  // namespace
}  // namespace cay::core
