// An attach that a daemon sends right behind a start, without waiting for its answer.
#include <gtest/gtest.h>

#include "keeper/command_state.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

class AttachBehindStart : public ::testing::Test {
 protected:
  LocalKeeper keeper{Transport::kUnix};
  Client client = keeper.client();

  CommandState state_of(const std::string& id) {
    const wire::Frame frame = client.call(Type::kGetCommand, wire::CommandRef{id});
    return static_cast<CommandState>(wire::decode<wire::CommandMsg>(frame.payload).value().state);
  }
  // Sends both; the channels of the start and of the attach.
  std::pair<std::uint32_t, std::uint32_t> send_both(wire::StartCommand request) {
    request.reader_follows = true;
    wire::Attach attach;
    attach.command_id = request.command_id;
    attach.credit = 1 << 20;
    const std::uint32_t start = client.ask(Type::kStart, request);
    const std::uint32_t reader = client.ask(Type::kAttach, attach);
    return {start, reader};
  }
};

TEST_F(AttachBehindStart, ReadsFromTheFirstByteToTheEnd) {
  const auto [start, reader] = send_both(shell("a", "echo hello; exit 3"));
  EXPECT_EQ(type_of(client.next(start)), Type::kCommand);
  const Output got = client.collect(reader);
  EXPECT_EQ(got.out, "hello\n");
  EXPECT_EQ(got.end.exit_code, 3);
}

TEST_F(AttachBehindStart, SharesTheFailureOfAProgramThatIsNotThere) {
  wire::StartCommand request = shell("a", "true");
  request.argv = {"no-such-program-here"};
  const auto [start, reader] = send_both(request);
  EXPECT_EQ(error_of(client.next(start)).reason, "command_not_found");
  EXPECT_EQ(error_of(client.next(reader)).reason, "command_not_found");
}

// The command that has the id is another's, and is neither read nor left by this attach.
TEST_F(AttachBehindStart, OfAnIdInUseLeavesTheOtherCommandAlone) {
  wire::StartCommand first = shell("a", "sleep 600");
  first.kill_on_disconnect = true;
  first.digest = "one request";
  client.start(first);
  wire::StartCommand other = shell("a", "echo other");
  other.digest = "another request";
  const auto [start, reader] = send_both(other);
  EXPECT_EQ(error_of(client.next(start)).reason, "command_id_in_use");
  EXPECT_EQ(error_of(client.next(reader)).reason, "command_id_in_use");
  client.send(Type::kCancel, reader, wire::Empty{});
  EXPECT_EQ(state_of("a"), CommandState::kRunning);
  // Positive control: a reader that leaves ends it.
  wire::Attach attach;
  attach.command_id = "a";
  const std::uint32_t real = client.ask(Type::kAttach, attach);
  EXPECT_EQ(type_of(client.next(real)), Type::kCommand);
  client.send(Type::kCancel, real, wire::Empty{});
  EXPECT_EQ(client.attach("a").end.by, "disconnect");
}

TEST_F(AttachBehindStart, ThatIsCancelledBeforeTheStartIsNoReader) {
  wire::StartCommand request = shell("a", "sleep 600");
  request.idle_timeout_ms = 100;
  const auto [start, reader] = send_both(request);
  client.send(Type::kCancel, reader, wire::Empty{});
  EXPECT_EQ(type_of(client.next(start)), Type::kCommand);
  client.run(shell("later", "sleep 0.4"));  // outlasts the idle time
  EXPECT_EQ(state_of("a"), CommandState::kIdleKilled);
}

}  // namespace
}  // namespace cay::keeper::testing
