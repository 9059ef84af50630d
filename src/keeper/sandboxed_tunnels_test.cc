// Tunnels into a real sandbox: its own loopback, and nothing else.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/testing/tcp.h"
#include "keeper/testing/local_keeper.h"
#include "keeper/testing/local_sandbox.h"

namespace cay::keeper::testing {
namespace {

using cay::testing::Listener;
using cay::testing::read_bytes;
using cay::testing::write_bytes;
using wire::Type;

// Listens, prints the port, and answers each connection by a line.
constexpr const char* kServer = R"(
import socket, sys
l = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(l.getsockname()[1], flush=True)
while True:
    c, peer = l.accept()
    c.sendall(b"inside, from " + peer[0].encode())
    c.close()
)";

class SandboxedTunnelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!LocalSandbox::possible(why)) GTEST_SKIP() << why;
    // In 64 MiB the kernel's own, of the tens of thousands of processes that the hostile root ends,
    // had the server killed once.
    sandbox = std::make_unique<LocalSandbox>(256ULL << 20);
    keeper = std::make_unique<LocalKeeper>(
        Transport::kUnix,
        [this](Context& context) {
          ASSERT_EQ(::fchown(context.spool_fd, sandbox->keeper_uid(), 0), 0);
        },
        [this](Context& context) { sandbox->enter(context); });
    client = std::make_unique<Client>(keeper->client());
  }
  void TearDown() override {
    client.reset();
    keeper.reset();
    sandbox.reset();
  }
  // A server inside; its port.
  std::uint16_t serve(std::uint16_t port = 0) {
    client->start(command("server", {"python3", "-c", kServer, std::to_string(port)}));
    wire::Attach attach;
    attach.command_id = "server";
    attach.credit = 100;
    const Output said = client->collect(client->ask(Type::kAttach, attach), 1);
    return static_cast<std::uint16_t>(std::stoi(said.out));
  }
  // Returns the bytes of a connection to `port`, or the reason of its refusal.
  std::string connect(std::uint16_t port) {
    const std::uint32_t channel = client->ask(Type::kOpenTunnel, wire::OpenTunnel{port, 1000, 0});
    const wire::Frame first = client->next(channel);
    if (type_of(first) != Type::kTunnelOpen) return error_of(first).reason;
    std::string got;
    for (;;) {
      const wire::Frame frame = client->next(channel);
      if (type_of(frame) != Type::kData) return got;
      got += wire::decode_data(frame.payload).value().bytes;
    }
  }

  std::unique_ptr<LocalSandbox> sandbox;
  std::unique_ptr<LocalKeeper> keeper;
  std::unique_ptr<Client> client;
};

TEST_F(SandboxedTunnelsTest, OnlyTheSandboxsOwnLoopbackIsReached) {
  const Listener host;  // on the host's loopback
  ASSERT_EQ(connect(host.port()), "connect_refused");
  // The control: the same port answers once something inside listens on it, and it is not the
  // host's.
  ASSERT_EQ(serve(host.port()), host.port());
  EXPECT_EQ(connect(host.port()), "inside, from 127.0.0.1");
  std::string from_host;
  std::thread accepting([&] { write_bytes(host.accept(), "outside"); });
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(host.port());
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  accepting.join();
  EXPECT_EQ(read_bytes(fd, 100), "outside")
      << "the first connection that the host's listener ever saw";
}

TEST_F(SandboxedTunnelsTest, ManyConnectionsAtOnce) {
  const std::uint16_t port = serve();
  std::vector<std::uint32_t> channels;
  for (int i = 0; i < 60; ++i)
    channels.push_back(client->ask(Type::kOpenTunnel, wire::OpenTunnel{port, 1000, 0}));
  for (const auto channel : channels) {
    EXPECT_EQ(type_of(client->next(channel)), Type::kTunnelOpen);
    EXPECT_EQ(wire::decode_data(client->next(channel).payload).value().bytes,
              "inside, from 127.0.0.1");
  }
}

// Root inside kills and stops all it can see: what makes the sockets is not among it.
TEST_F(SandboxedTunnelsTest, AHostileRootSeesNothingToStop) {
  const std::uint16_t port = serve();
  client->start(shell("attack",
                      "for i in 1 2 3; do (while :; do for p in /proc/[0-9]*; do p=${p#/proc/}; "
                      "case $(cat /proc/$p/comm 2>/dev/null) in sh|python3|cat|\"\") ;; *) kill "
                      "-STOP $p 2>/dev/null;; "
                      "esac; done; done) & done; wait"));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(connect(port), "inside, from 127.0.0.1");
  client->call(Type::kKill, wire::Kill{"attack", 0, "client"});
}

TEST_F(SandboxedTunnelsTest, AFreshSandboxRefuses) { EXPECT_EQ(connect(5432), "connect_refused"); }

}  // namespace
}  // namespace cay::keeper::testing
