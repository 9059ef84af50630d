// Tunnels of a real keeper, on the loopback it stands on.
#include "keeper/tunnels.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing/tcp.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

using cay::testing::break_off;
using cay::testing::Listener;
using cay::testing::read_bytes;
using cay::testing::write_bytes;
using wire::Type;

class TunnelsTest : public ::testing::Test {
 protected:
  std::uint32_t ask(std::uint16_t port, std::uint64_t credit = 1 << 20,
                    std::int64_t timeout_ms = 0) {
    return client.ask(Type::kOpenTunnel, wire::OpenTunnel{port, credit, timeout_ms});
  }
  // Opens one, and gives the program's end of it.
  UniqueFd open(const Listener& listener, std::uint32_t& number, std::uint64_t credit = 1 << 20) {
    number = ask(listener.port(), credit);
    UniqueFd end = listener.accept();
    EXPECT_EQ(type_of(client.next(number)), Type::kTunnelOpen);
    return end;
  }
  void send(std::uint32_t number, std::string_view bytes) {
    client.send(Type::kData, number, wire::encode_data(wire::Data{0, false, 0, bytes}));
  }
  // Data until something else comes, which is returned.
  wire::Frame collect(std::uint32_t number, std::string& bytes) {
    for (;;) {
      wire::Frame frame = client.next(number);
      if (type_of(frame) == Type::kCredit) continue;
      if (type_of(frame) != Type::kData) return frame;
      const auto data = wire::decode_data(frame.payload).value();
      EXPECT_EQ(data.offset, bytes.size());
      bytes += data.bytes;
    }
  }
  std::string reason(std::uint32_t number) { return error_of(client.next(number)).reason; }

  LocalKeeper keeper;
  Client client{keeper.client()};
  std::uint32_t channel = 0;
};

TEST_F(TunnelsTest, BytesGoBothWaysAndEachSideEndsForItself) {
  const Listener listener;
  const UniqueFd end = open(listener, channel);
  send(channel, "to the program");
  EXPECT_EQ(read_bytes(end, 14), "to the program");
  client.send(Type::kEof, channel, wire::Eof{});
  EXPECT_EQ(read_bytes(end, 1), "") << "it reads to the end";
  ASSERT_TRUE(write_bytes(end, "and it answers"));
  ::shutdown(end.get(), SHUT_WR);
  std::string got;
  EXPECT_EQ(type_of(collect(channel, got)), Type::kEof);
  EXPECT_EQ(got, "and it answers");
  EXPECT_EQ(type_of(client.next(channel)), Type::kOk);
}

TEST_F(TunnelsTest, TheProgramMayEndFirst) {
  const Listener listener;
  const UniqueFd end = open(listener, channel);
  ::shutdown(end.get(), SHUT_WR);
  EXPECT_EQ(type_of(client.next(channel)), Type::kEof);
  send(channel, "still");
  EXPECT_EQ(read_bytes(end, 5), "still");
  client.send(Type::kEof, channel, wire::Eof{});
  EXPECT_EQ(type_of(client.next(channel)), Type::kOk);
}

TEST_F(TunnelsTest, IPv6IsTriedWhereIPv4Refuses) {
  const Listener listener(true);
  const UniqueFd end = open(listener, channel);
  send(channel, "six");
  EXPECT_EQ(read_bytes(end, 3), "six");
}

TEST_F(TunnelsTest, RefusalsAreTyped) {
  std::uint16_t nobody = 0;
  {
    nobody = Listener().port();
  }
  EXPECT_EQ(reason(ask(nobody)), "connect_refused");
  EXPECT_EQ(reason(ask(0)), "invalid_port");
  EXPECT_EQ(reason(client.ask(Type::kOpenTunnel, wire::OpenTunnel{65536, 0, 0})), "invalid_port");
}

// Nobody accepts and the queue is full: the kernel lets further connects wait.
TEST_F(TunnelsTest, AConnectThatIsNotAcceptedEndsInTime) {
  const Listener listener(false, 0);
  std::vector<std::uint32_t> asked;
  for (int i = 0; i < 4; ++i) asked.push_back(ask(listener.port(), 1, 300));
  EXPECT_EQ(reason(asked.back()), "connect_timed_out");
}

TEST_F(TunnelsTest, DataComesAsFarAsCreditAllows) {
  const Listener listener;
  const UniqueFd end = open(listener, channel, 10);
  ASSERT_TRUE(write_bytes(end, "0123456789abcde"));
  ::shutdown(end.get(), SHUT_WR);
  EXPECT_EQ(wire::decode_data(client.next(channel).payload).value().bytes, "0123456789");
  // Nothing more until there is credit: another request is answered first.
  EXPECT_EQ(type_of(client.call(Type::kStats, wire::Empty{})), Type::kStatsReply);
  client.send(Type::kCredit, channel, wire::Credit{100});
  EXPECT_EQ(wire::decode_data(client.next(channel).payload).value().bytes, "abcde");
  EXPECT_EQ(type_of(client.next(channel)), Type::kEof);
}

TEST_F(TunnelsTest, AProgramThatReadsNothingHoldsUpItsOwnConnectionOnly) {
  const Listener listener;
  std::uint32_t other = 0;
  const UniqueFd stuck = open(listener, channel);
  const UniqueFd fine = open(listener, other);
  const std::string piece(32 * 1024, 'x');
  std::uint64_t window = Tunnels::kWindow;
  std::uint64_t sent = 0;
  // Until no credit comes back: every answer is in once a later request was answered.
  while (window >= piece.size()) {
    send(channel, piece);
    window -= piece.size();
    sent += piece.size();
    if (window >= piece.size()) continue;
    const std::uint32_t fence = client.ask(Type::kStats, wire::Empty{});
    client.next(fence);
    while (client.has(channel))
      window += wire::decode<wire::Credit>(client.next(channel).payload)->bytes;
  }
  EXPECT_LT(sent, std::uint64_t{8} << 20)
      << "what the kernel and the keeper hold for it is bounded";
  send(other, "hello");
  EXPECT_EQ(read_bytes(fine, 5), "hello");
  EXPECT_EQ(read_bytes(stuck, sent).size(), sent);
}

TEST_F(TunnelsTest, MoreThanTheWindowIsRefused) {
  const Listener listener;
  const UniqueFd end = open(listener, channel);
  const std::string most(wire::kDataChunk, 'x');
  std::string reason;
  for (int i = 0; i < 1000 && reason.empty(); ++i) {
    send(channel, most);
    const std::uint32_t fence = client.ask(Type::kStats, wire::Empty{});
    client.next(fence);
    while (client.has(channel) && reason.empty()) reason = error_of(client.next(channel)).reason;
  }
  EXPECT_EQ(reason, "tunnel_overrun");
}

TEST_F(TunnelsTest, AResetIsTold) {
  const Listener listener;
  UniqueFd end = open(listener, channel);
  break_off(std::move(end));
  EXPECT_EQ(reason(channel), "connection_reset");
}

TEST_F(TunnelsTest, ACancelIsAResetForTheProgram) {
  const Listener listener;
  const UniqueFd end = open(listener, channel);
  client.send(Type::kCancel, channel, wire::Empty{});
  char byte = 0;
  EXPECT_EQ(::recv(end.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(TunnelsTest, TheLossOfTheDaemonIsAResetToo) {
  const Listener listener;
  const UniqueFd end = open(listener, channel);
  const Client next = keeper.client();  // takes its place
  char byte = 0;
  EXPECT_EQ(::recv(end.get(), &byte, 1, 0), -1);
}

TEST_F(TunnelsTest, ConnectionsAreBoundedAndGivenBack) {
  const Listener listener(false, 1024);
  std::vector<std::uint32_t> channels;
  for (std::size_t i = 0; i < Tunnels::kMost; ++i) {
    channels.push_back(ask(listener.port()));
    ASSERT_EQ(type_of(client.next(channels.back())), Type::kTunnelOpen);
  }
  EXPECT_EQ(reason(ask(listener.port())), "too_many_tunnels");
  client.send(Type::kCancel, channels.front(), wire::Empty{});
  EXPECT_EQ(type_of(client.next(ask(listener.port()))), Type::kTunnelOpen);
}

// Level-triggered news about a connection that nobody wants to read must not keep the keeper busy.
TEST_F(TunnelsTest, AFinishedProgramCostsNoTime) {
  const Listener listener;
  {
    const UniqueFd end = open(listener, channel, 1);
    ASSERT_TRUE(write_bytes(end, "xyz"));
  }
  EXPECT_EQ(wire::decode_data(client.next(channel).payload).value().bytes, "x");
  client.send(Type::kEof, channel, wire::Eof{});
  const auto ticks = [this] { return keeper.cpu_ticks(); };
  const long before = ticks();
  for (int i = 0; i < 20; ++i) {
    ::usleep(10'000);
    client.call(Type::kStats, wire::Empty{});
  }
  EXPECT_LE(ticks() - before, 5);
}

}  // namespace
}  // namespace cay::keeper::testing
