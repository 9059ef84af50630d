// A keeper on a TCP socket: only who proves that it holds the sandbox's key is served.
#include "keeper/peer_proof.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "keeper/testing/local_keeper.h"
#include "os/random.h"
#include "wire/hello_proof.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

std::string bytes_of(Type type, std::uint32_t channel, std::string payload) {
  wire::Frame frame;
  frame.type = static_cast<std::uint16_t>(type);
  frame.channel = channel;
  frame.payload = std::move(payload);
  return wire::encode_frame(frame);
}

// A client's half that a test may get wrong.
class RawPeer {
 public:
  explicit RawPeer(const LocalKeeper& keeper) : socket_(keeper.connect()) { keeper_ = frame(); }

  // Sends a HELLO with a fresh nonce.
  void hello() {
    wire::Hello ours;
    ours.role = "daemon";
    ours.nonce = *os::random_bytes(wire::kHelloNonce);
    daemon_ = wire::encode(ours);
    send(Type::kHello, 0, daemon_);
  }
  std::string proof(const std::string& key, wire::Prover by = wire::Prover::kDaemon) const {
    return wire::encode(wire::Proof{wire::prove_hello(key, by, {keeper_, daemon_})});
  }
  void send(Type type, std::uint32_t channel, std::string payload) {
    send(bytes_of(type, channel, std::move(payload)));
  }
  // All that was sent so far.
  const std::string& sent() const { return sent_; }
  void send(const std::string& bytes) {
    sent_ += bytes;
    const auto done = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    EXPECT_EQ(done, static_cast<ssize_t>(bytes.size()));
  }
  // Whether the keeper closes the connection, and sends nothing before that.
  bool is_closed() {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 20'000) != 1) return false;
    char byte = 0;
    return reader_.buffered() == 0 && ::read(socket_.get(), &byte, 1) <= 0;
  }

 private:
  std::string frame() {
    for (;;) {
      if (auto got = reader_.next()) return got->payload;
      char buffer[4096];
      const ssize_t size = ::read(socket_.get(), buffer, sizeof buffer);
      if (size <= 0) throw std::runtime_error("the keeper hung up");
      reader_.feed({buffer, static_cast<std::size_t>(size)});
    }
  }

  UniqueFd socket_;
  wire::FrameReader reader_;
  std::string keeper_, daemon_, sent_;
};

class PeerProofTest : public ::testing::Test {
 protected:
  LocalKeeper keeper{Transport::kTcp};
};

TEST_F(PeerProofTest, TheRightKeyRunsACommand) {
  Client client(keeper.connect(), keeper.key());
  EXPECT_EQ(client.hello().role, "keeper");
  EXPECT_EQ(client.run(shell("a", "echo hi")).out, "hi\n");
  // The control of the tests below: the same frames, made by the same code.
  RawPeer peer(keeper);
  peer.hello();
  peer.send(Type::kProof, 0, peer.proof(keeper.key()));
  EXPECT_FALSE(peer.is_closed());
}

TEST_F(PeerProofTest, AWrongProofIsClosedWithoutAnAnswer) {
  RawPeer wrong(keeper);
  wrong.hello();
  wrong.send(Type::kProof, 0, wrong.proof(std::string(wire::kHelloKey, 'x')));
  EXPECT_TRUE(wrong.is_closed());
  RawPeer reflected(keeper);
  reflected.hello();
  reflected.send(Type::kProof, 0, reflected.proof(keeper.key(), wire::Prover::kKeeper));
  EXPECT_TRUE(reflected.is_closed());
  RawPeer empty(keeper);
  empty.hello();
  empty.send(Type::kProof, 0, "");
  EXPECT_TRUE(empty.is_closed());
}

TEST_F(PeerProofTest, AReplayedProofIsClosed) {
  RawPeer good(keeper);
  good.hello();
  good.send(Type::kProof, 0, good.proof(keeper.key()));
  EXPECT_FALSE(good.is_closed()) << "the control";
  RawPeer replay(keeper);
  replay.send(good.sent());
  EXPECT_TRUE(replay.is_closed());
}

TEST_F(PeerProofTest, WithoutAProofNothingIsServed) {
  Client daemon = keeper.client();
  RawPeer bare(keeper);
  bare.hello();
  bare.send(Type::kStart, 1, wire::encode(shell("stolen", "true")));
  EXPECT_TRUE(bare.is_closed());
  RawPeer at_once(keeper);
  at_once.send(Type::kStart, 1, wire::encode(shell("stolen", "true")));
  EXPECT_TRUE(at_once.is_closed());
  RawPeer twice(keeper);
  twice.hello();
  twice.hello();
  EXPECT_TRUE(twice.is_closed());
  RawPeer without_nonce(keeper);
  wire::Hello hello;
  hello.role = "tunnel";
  without_nonce.send(Type::kHello, 0, wire::encode(hello));
  without_nonce.send(Type::kProof, 0, without_nonce.proof(keeper.key()));
  EXPECT_TRUE(without_nonce.is_closed());
  // The daemon was neither replaced nor disturbed, and nothing was started.
  const auto none = daemon.call(Type::kGetCommand, wire::CommandRef{"stolen"});
  EXPECT_EQ(error_of(none).reason, "unknown_command");
  EXPECT_EQ(daemon.run(shell("own", "echo hi")).out, "hi\n");
}

TEST_F(PeerProofTest, AStrangerSendsNoLongFrame) {
  RawPeer peer(keeper);
  peer.send(Type::kHello, 0, std::string(20'000, '\0'));
  EXPECT_TRUE(peer.is_closed());
}

TEST(PeerProofOfAUser, NeedsNoKeyOnAUnixSocket) {
  LocalKeeper keeper;
  EXPECT_EQ(keeper.key(), "");
  EXPECT_EQ(keeper.client().run(shell("a", "echo hi")).out, "hi\n");
}

TEST(PeerProofOfAUser, IsNeverGivenToATcpSocket) {
  LocalKeeper keeper(Transport::kTcp,
                     [](Context& context) { context.daemon = PeerCredentials{::getuid()}; });
  Client client(keeper.connect());
  EXPECT_THROW(client.hello(), std::runtime_error);
}

TEST(PeerProofKey, AShortOneIsRefused) {
  Context context;
  context.daemon = SharedKey{std::string(wire::kHelloKey - 1, 'k')};
  ASSERT_FALSE(check(context));
  EXPECT_EQ(check(context).error().reason, "short_key");
  context.daemon = SharedKey{std::string(wire::kHelloKey, 'k')};
  EXPECT_TRUE(check(context));
}

}  // namespace
}  // namespace cay::keeper::testing
