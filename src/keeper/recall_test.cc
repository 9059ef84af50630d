// A keeper's knowledge of the commands of its sandbox's earlier lives, and of commands begun while
// it ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "keeper/command_state.h"
#include "keeper/testing/client.h"
#include "keeper/testing/local_keeper.h"
#include "wire/spool_record.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

CommandState state(const wire::CommandMsg& message) {
  return static_cast<CommandState>(message.state);
}

// A sandbox with two lives: `first` runs on until end_first(), the second serves the same spool.
class RecallTest : public ::testing::Test {
 protected:
  static void with_boot_id(Context& context) { context.boot_id = "boot-a"; }

  LocalKeeper first{Transport::kUnix, with_boot_id};
  UniqueFd spool;
  std::unique_ptr<LocalKeeper> second;

  void end_first() {
    ::kill(first.pid(), SIGKILL);
    first.wait();
  }
  Client next_life(const std::string& boot_id = "boot-a") {
    spool.reset(::open(first.spool().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    second = std::make_unique<LocalKeeper>(Transport::kUnix, [&](Context& context) {
      context.spool_fd = spool.get();
      context.boot_id = boot_id;
    });
    return second->client();
  }
  static wire::CommandMsg get(Client& client, const std::string& id) {
    const wire::Frame frame = client.call(Type::kGetCommand, wire::CommandRef{id});
    EXPECT_EQ(type_of(frame), Type::kCommand) << id;
    return wire::decode<wire::CommandMsg>(frame.payload).value();
  }
  std::filesystem::path record(const std::string& id) const {
    return std::filesystem::path(first.spool()) / id / "record";
  }
};

// All bytes of an output past its limit are counted, and the newest are there.
TEST_F(RecallTest, ALostCommandsRingIsWhatItWas) {
  std::string whole;
  for (int n = 1; n <= 30'000; ++n) whole += std::to_string(n) + "\n";
  {
    Client client = first.client();
    wire::StartCommand request = shell("open", "seq 1 30000; echo begun >&2; exec sleep 600");
    request.spool_limit = 8192;
    client.start(request);
    wire::Attach attach;
    attach.command_id = "open";
    attach.credit = 1 << 20;
    const std::uint32_t channel = client.ask(Type::kAttach, attach);
    std::string err;
    while (err.empty()) {  // on both streams: one that was read last was also written last, but for
                           // the other's turn
      const wire::Frame frame = client.next(channel);
      const auto data =
          type_of(frame) == Type::kData ? wire::decode_data(frame.payload) : std::nullopt;
      if (data && data->stream == 2) err = data->bytes;
    }
    for (wire::CommandMsg now = get(client, "open"); now.out.bytes < whole.size();)
      now = get(client, "open");
  }
  end_first();
  Client client = next_life();
  const Output open = client.attach("open");
  EXPECT_EQ(state(open.end), CommandState::kLost);
  EXPECT_EQ(open.end.out.bytes, whole.size());
  EXPECT_EQ(open.end.err.bytes, 6U);
  ASSERT_EQ(open.gaps.size(), 1U);
  EXPECT_EQ(open.gaps[0].offset, 4096U);
  EXPECT_EQ(open.gaps[0].length, whole.size() - 8192);
  EXPECT_EQ(open.out, whole.substr(0, 4096) + whole.substr(whole.size() - 4096));
}

// Killed in the middle of it: whatever is offered is what was written there.
TEST_F(RecallTest, ARingThatWasBeingWrittenIsNoLie) {
  {
    Client client = first.client();
    wire::StartCommand request = shell("open", "exec seq 1 1000000000");
    request.spool_limit = 1 << 20;
    client.start(request);
    while (get(client, "open").out.bytes < (8U << 20)) continue;
  }
  end_first();
  Client client = next_life();
  const Output open = client.attach("open");
  EXPECT_GE(open.end.out.bytes, 8U << 20);
  ASSERT_EQ(open.gaps.size(), 1U);
  const std::uint64_t tail = open.gaps[0].offset + open.gaps[0].length;
  EXPECT_GE(open.end.out.bytes - tail, 256U << 10) << "the newest bytes are there";
  // By its offset every byte of `seq` is known: n lines of d digits each take n * (d + 1) bytes.
  std::string kept = open.out.substr(open.gaps[0].offset);
  kept.erase(0, kept.find('\n') + 1);
  std::uint64_t number = std::stoull(kept), at = open.end.out.bytes - kept.size(), expected = 0;
  for (std::uint64_t first_of = 1, digits = 1; first_of <= number; first_of *= 10, ++digits) {
    expected += (std::min(number, first_of * 10) - first_of) * (digits + 1);
  }
  EXPECT_EQ(at, expected) << number;
  std::string again;
  while (again.size() < kept.size()) again += std::to_string(number++) + "\n";
  EXPECT_TRUE(again.substr(0, kept.size()) == kept) << "the tail is the sequence itself";
}

// A child that was left behind writes on when the keeper is killed: past the limit (stdout) and
// within it (stderr).
TEST_F(RecallTest, WhatCameAfterTheEndIsThereThoughItsKeeperWasKilled) {
  std::string whole;
  for (int n = 1; n <= 30'000; ++n) whole += std::to_string(n) + "\n";
  const std::uint64_t first_part = whole.size();
  for (int n = 1; n <= 300; ++n) whole += std::to_string(n) + "\n";
  {
    Client client = first.client();
    const std::string gate = first.home() + "/gate";
    wire::StartCommand request = shell(
        "a", "seq 1 30000; (while [ ! -e " + gate +
                 " ]; do sleep 0.01; done; echo late >&2; seq 1 300; exec sleep 600) & exit 3");
    request.spool_limit = 8192;
    client.start(request);
    EXPECT_EQ(client.attach("a").end.exit_code, 3);
    client.run(shell("open", "touch " + gate));
    for (wire::CommandMsg now = get(client, "a"); now.out.bytes < whole.size();
         now = get(client, "a"))
      continue;
  }
  end_first();
  Client client = next_life();
  const Output got = client.attach("a");
  EXPECT_EQ(state(got.end), CommandState::kExited);
  EXPECT_EQ(got.end.exit_code, 3);
  EXPECT_EQ(got.end.out.end_offset, first_part);
  EXPECT_EQ(got.end.out.bytes, whole.size());
  EXPECT_EQ(got.end.out.gap_end, whole.size() - 4096);
  EXPECT_EQ(got.out, whole.substr(0, 4096) + whole.substr(whole.size() - 4096));
  EXPECT_EQ(got.err, "late\n");
  EXPECT_EQ(got.end.err.end_offset, 0U);
}

TEST_F(RecallTest, EndsOutputAndIdsAreKnownInTheNextLife) {
  {
    Client client = first.client();
    wire::StartCommand done = shell("done", "echo out; exit 4");
    done.digest = "one";
    client.run(done);
    client.start(shell("open", "echo begun; exec sleep 600"));
    wire::Attach attach;
    attach.command_id = "open";
    attach.credit = 100;
    EXPECT_EQ(client.collect(client.ask(Type::kAttach, attach), 1).out, "begun\n");
  }
  end_first();
  Client client = next_life();
  std::set<std::string> listed;
  const std::uint32_t list = client.ask(Type::kListCommands, wire::Empty{});
  for (wire::Frame frame = client.next(list); type_of(frame) == Type::kCommand;
       frame = client.next(list)) {
    listed.insert(wire::decode<wire::CommandMsg>(frame.payload).value().command_id);
  }
  EXPECT_EQ(listed, (std::set<std::string>{"done", "open"}));
  const Output done = client.attach("done");
  EXPECT_EQ(done.out, "out\n");
  EXPECT_EQ(done.end.exit_code, 4);
  const Output open = client.attach("open");
  EXPECT_EQ(open.out, "begun\n");
  EXPECT_EQ(state(open.end), CommandState::kLost);
  EXPECT_TRUE(open.end.reason.starts_with("keeper lost")) << open.end.reason;

  // The same id never runs twice, in no life.
  wire::StartCommand repeat = shell("done", "echo out; exit 4");
  repeat.digest = "one";
  const auto known = client.start(repeat);
  EXPECT_TRUE(known.known);
  EXPECT_EQ(known.exit_code, 4);
  repeat.digest = "two";
  EXPECT_EQ(error_of(client.call(Type::kStart, repeat)).reason, "command_id_in_use");
}

TEST_F(RecallTest, AnotherBootIdMeansThatTheHostRestarted) {
  first.client().start(shell("a", "exec sleep 600"));
  end_first();
  Client client = next_life("boot-b");
  EXPECT_TRUE(get(client, "a").reason.starts_with("host restarted"));
}

// A new file on ext4 after a power cut, whatever had been written.
TEST_F(RecallTest, AnEmptyRecordIsALostCommandAndNeverRunsAgain) {
  first.client().run(shell("once", "echo out; exit 4"));
  end_first();
  std::filesystem::resize_file(record("once"), 0);
  Client client = next_life();
  const Output told = client.attach("once");
  EXPECT_EQ(state(told.end), CommandState::kLost);
  EXPECT_TRUE(told.end.reason.starts_with("record damaged")) << told.end.reason;
  EXPECT_EQ(told.out, "out\n");
  EXPECT_TRUE(client.start(shell("once", "echo out; exit 4")).known);
}

// A keeper that was killed while it made a record had started nothing.
TEST_F(RecallTest, ARecordThatWasBeingMadeIsNoCommand) {
  first.client().run(shell("cut", "exit 4"));
  end_first();
  std::filesystem::rename(record("cut"), record("cut").replace_filename("record.new"));
  Client client = next_life();
  EXPECT_EQ(client.run(shell("cut", "echo ran; exit 5")).end.exit_code, 5);
}

TEST_F(RecallTest, ATornRecordIsALostCommandAndNeverRunsAgain) {
  first.client().run(shell("torn", "exit 4"));
  first.client().run(shell("garbled", "exit 4"));
  end_first();
  std::filesystem::resize_file(record("torn"), std::filesystem::file_size(record("torn")) - 5);
  std::ofstream(record("garbled")) << "\x7fnot a record";
  {
    Client client = next_life();
    EXPECT_EQ(state(get(client, "torn")), CommandState::kLost);
    EXPECT_EQ(state(get(client, "garbled")), CommandState::kLost);
    EXPECT_TRUE(client.start(shell("garbled", "exit 4")).known);
  }
  // On disk too, so that readers of the spool see the same.
  std::ifstream file(record("torn"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto kept = wire::read_record(bytes);
  ASSERT_TRUE(kept);
  EXPECT_EQ(state(kept->message), CommandState::kLost);
  EXPECT_EQ(kept->good, bytes.size());
}

TEST_F(RecallTest, TheKeepingTimeGoesOnWhileTheSandboxIsStopped) {
  wire::StartCommand brief = shell("brief", "true");
  brief.ttl_ms = 50'000;
  first.client().run(brief);
  first.client().run(shell("kept", "true"));
  end_first();
  // As if it had ended a minute ago.
  std::ifstream file(record("brief"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  wire::CommandMsg older = wire::read_record(bytes).value().message;
  older.argv = {};
  older.ended_at -= 60'000;
  older.ended_boot_ms -= 60'000;
  std::ofstream(record("brief"), std::ios::binary | std::ios::app) << wire::record_frame(older);
  Client client = next_life();
  EXPECT_EQ(type_of(client.call(Type::kGetCommand, wire::CommandRef{"brief"})), Type::kError);
  EXPECT_FALSE(std::filesystem::exists(record("brief")));
  EXPECT_EQ(state(get(client, "kept")), CommandState::kExited);
}

TEST_F(RecallTest, ASettingOfTheClockEndsNoKeepingTime) {
  for (const char* id : {"past", "future"}) {
    wire::StartCommand brief = shell(id, "true");
    brief.ttl_ms = 600'000;
    first.client().run(brief);
  }
  end_first();
  for (const auto& [id, jump] :
       {std::pair<const char*, std::int64_t>{"past", -3'600'000'000}, {"future", 3'600'000'000}}) {
    std::ifstream file(record(id), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    wire::CommandMsg moved = wire::read_record(bytes).value().message;
    moved.argv = {};
    moved.ended_at += jump;  // as if the clock had been set since
    std::ofstream(record(id), std::ios::binary | std::ios::app) << wire::record_frame(moved);
  }
  Client client = next_life();
  EXPECT_EQ(state(get(client, "past")), CommandState::kExited);
  EXPECT_EQ(state(get(client, "future")), CommandState::kExited);
}

// The caller kills the keeper at its answer. The leftover processes take their time to die, for
// they have much to free.
TEST(ShutdownTest, ItsAnswerComesAfterTheLastByteIsOnRecord) {
  LocalKeeper keeper;
  Client client = keeper.client();
  wire::StartCommand request =
      shell("a", "seq 1 30000; dd if=/dev/zero of=/dev/null bs=200M & exec sleep 0.5");
  request.spool_limit = 8192;
  client.start(request);
  const wire::ExtentMsg told = client.attach("a").end.out;
  const std::uint32_t ending = client.ask(Type::kShutdown, wire::Empty{});
  EXPECT_EQ(type_of(client.next(ending)), Type::kOk);
  ::kill(keeper.pid(), SIGKILL);
  std::ifstream file(keeper.spool() + "/a/record", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto record = wire::read_record(bytes);
  ASSERT_TRUE(record);
  EXPECT_EQ(state(record->message), CommandState::kExited);
  EXPECT_FALSE(record->message.unsettled);
  EXPECT_EQ(record->message.out.gap_end, told.bytes - 4096);
}

// A start that was answered with an error must not have run: the client will start it again.
TEST(ShutdownTest, NoStartThatIsRefusedHasRun) {
  LocalKeeper keeper;
  Client client = keeper.client();
  const std::string home = keeper.home();
  std::map<std::string, std::uint32_t> asked;
  for (int i = 0; i < 60; ++i) {
    const std::string id = "c" + std::to_string(i);
    asked[id] = client.ask(Type::kStart, shell(id, "echo ran > " + home + "/ran-" + id));
  }
  const std::uint32_t ending = client.ask(Type::kShutdown, wire::Empty{});
  EXPECT_EQ(type_of(client.next(ending)), Type::kOk);
  int refused = 0;
  for (const auto& [id, channel] : asked) {
    const wire::Frame answer = client.next(channel);
    const bool ran = std::filesystem::exists(home + "/ran-" + id);
    if (type_of(answer) != Type::kError) continue;
    ++refused;
    EXPECT_EQ(error_of(answer).reason, "shutting_down");
    EXPECT_FALSE(ran) << id;
    EXPECT_FALSE(std::filesystem::exists(keeper.spool() + "/" + id)) << id;
  }
  EXPECT_EQ(keeper.wait(), 0);
  std::printf("%d of %zu starts were refused\n", refused, asked.size());
}

}  // namespace
}  // namespace cay::keeper::testing
