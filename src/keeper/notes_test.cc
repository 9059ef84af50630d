// Notes of a real keeper: sent before the answer, again until they are on record, and ENDED for a
// daemon without notes.
#include <gtest/gtest.h>
#include <unistd.h>

#include "keeper/command_state.h"
#include "keeper/notes.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

CommandState state(const wire::NoteMsg& note) {
  return static_cast<CommandState>(note.command.state);
}

class NotesTest : public ::testing::Test {
 protected:
  // A connection of a daemon that takes notes.
  Client daemon() const {
    Client client(keeper.connect());
    EXPECT_TRUE(client.hello(true).notes);
    return client;
  }
  static wire::NoteMsg next(Client& client) {
    const wire::Frame frame = client.next(0);
    EXPECT_EQ(type_of(frame), Type::kNote);
    return wire::decode<wire::NoteMsg>(frame.payload).value();
  }
  LocalKeeper keeper;
};

TEST_F(NotesTest, AStartIsToldBeforeItsAnswerAndAnEndAfterIt) {
  Client client = daemon();
  client.start(shell("a", "exit 7"));
  ASSERT_TRUE(client.has(0));
  const auto started = next(client);
  EXPECT_EQ(state(started), CommandState::kRunning);
  EXPECT_EQ(started.command.command_id, "a");
  EXPECT_TRUE(started.command.argv.empty());
  const auto ended = next(client);
  EXPECT_EQ(state(ended), CommandState::kExited);
  EXPECT_EQ(ended.command.exit_code, 7);
  EXPECT_EQ(ended.life, started.life);
  EXPECT_EQ(ended.number, started.number + 1);
}

TEST_F(NotesTest, AreToldAgainToTheNextDaemonUntilTheyAreOnRecord) {
  wire::NoteMsg first;
  {
    Client client = daemon();
    wire::StartCommand request = shell("a", "exit 1");
    request.ttl_ms = 0;
    client.start(request);
    first = next(client);
    EXPECT_EQ(next(client).command.exit_code, 1);
    client.start(shell("b", "sleep 0.2; exit 2"));
    EXPECT_EQ(next(client).command.command_id, "b");
    const auto answer =
        client.call(Type::kNoted, wire::Noted{.life = first.life, .through = first.number});
    EXPECT_EQ(type_of(answer), Type::kOk);
    // A word about another life is not about these.
    client.call(Type::kNoted, wire::Noted{.life = first.life + 2, .through = first.number + 9});
  }  // killed
  Client client = daemon();
  const auto again = next(client);  // of a command that is not kept
  EXPECT_EQ(again.number, first.number + 1);
  EXPECT_EQ(again.command.command_id, "a");
  EXPECT_EQ(again.command.exit_code, 1);
  EXPECT_EQ(next(client).command.command_id, "b");
  const auto last = next(client);
  EXPECT_EQ(last.command.exit_code, 2);
  client.call(Type::kNoted, wire::Noted{.life = last.life, .through = last.number});
  Client third = daemon();
  EXPECT_EQ(type_of(third.call(Type::kStats, wire::Empty{})), Type::kStatsReply);
  EXPECT_FALSE(third.has(0));
}

TEST_F(NotesTest, AStartThatFailsIsNone) {
  Client client = daemon();
  EXPECT_EQ(type_of(client.call(Type::kStart, command("a", {"/no/such/program"}))), Type::kError);
  client.start(shell("b", "true"));
  EXPECT_EQ(next(client).command.command_id, "b");
}

TEST_F(NotesTest, ADaemonOfBeforeGetsEndsAndNothingIsKeptForIt) {
  Client client = keeper.client();
  client.start(shell("a", "exit 3"));
  const wire::Frame frame = client.next(0);
  EXPECT_EQ(type_of(frame), Type::kEnded);
  EXPECT_EQ(wire::decode<wire::CommandMsg>(frame.payload)->exit_code, 3);
  Client later = daemon();
  EXPECT_EQ(type_of(later.call(Type::kStats, wire::Empty{})), Type::kStatsReply);
  EXPECT_FALSE(later.has(0));
  later.start(shell("b", "true"));
  EXPECT_EQ(next(later).command.command_id, "b");
}

TEST_F(NotesTest, AShutdownTellsEveryEndBeforeItsAnswer) {
  Client client = daemon();
  for (int i = 0; i < 20; ++i) client.start(shell("c" + std::to_string(i), "sleep 100"));
  client.call(Type::kShutdown, wire::Empty{});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(state(next(client)), CommandState::kRunning);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.has(0));
    EXPECT_EQ(state(next(client)), CommandState::kKilled);
  }
}

struct NoRoom : Outbox {
  void send(ReplyTo, wire::Type, std::string) override {}
  void send_data(ReplyTo, const wire::Data&) override {}
  void send_with(UniqueFd, ReplyTo, wire::Type) override {}
  bool room() const override { return has_room; }
  void event(wire::Type, const std::string& payload) override {
    sent.push_back(wire::decode<wire::NoteMsg>(payload)->number);
  }
  bool has_room = true;
  std::vector<std::uint64_t> sent;
};

TEST(NotesAloneTest, WaitForRoomAndAreBounded) {
  NoRoom outbox;
  Notes notes(outbox);
  wire::CommandMsg command;
  notes.add(command);
  EXPECT_TRUE(outbox.sent.empty());  // nobody is there
  notes.daemon_came(true);
  outbox.has_room = false;
  notes.add(command);
  notes.add(command);
  EXPECT_EQ(outbox.sent, (std::vector<std::uint64_t>{1}));
  outbox.has_room = true;
  notes.pump();
  EXPECT_EQ(outbox.sent, (std::vector<std::uint64_t>{1, 2, 3}));
  notes.daemon_left();
  for (std::size_t i = 0; i < Notes::kMostKept; ++i) notes.add(command);
  outbox.sent.clear();
  notes.daemon_came(true);
  EXPECT_EQ(outbox.sent.size(), Notes::kMostKept);
  EXPECT_EQ(outbox.sent.front(), 4U);  // the oldest went
}

}  // namespace
}  // namespace cay::keeper::testing
