// A minimal relay in user space: splice(2) between two TCP connections, a blocking thread for each
// direction, and no look at the bytes. Its cost is the reference for Cay's ways in, which add as
// many hops.
//
//     bench_splice_relay PORT      listens on a free port of 127.0.0.1, which it prints, and passes
//     on to PORT
#include <fcntl.h>
#include <signal.h>

#include <thread>

#include "sockets.h"

namespace {

constexpr std::size_t kMost = 1 << 20;

void pass(int from, int to) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) cay::bench::give_up("pipe2");
  ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  for (;;) {
    ssize_t got = ::splice(from, nullptr, ends[1], nullptr, kMost, SPLICE_F_MOVE);
    if (got <= 0) break;
    while (got > 0) {
      const ssize_t gone =
          ::splice(ends[0], nullptr, to, nullptr, static_cast<std::size_t>(got), SPLICE_F_MOVE);
      if (gone <= 0) break;
      got -= gone;
    }
    if (got > 0) break;
  }
  ::shutdown(to, SHUT_WR);
  ::close(ends[0]);
  ::close(ends[1]);
}

void serve(int client, std::uint16_t port) {
  const int server = cay::bench::dial(port);
  std::thread up(pass, client, server);
  pass(server, client);
  up.join();
  ::close(client);
  ::close(server);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  const int listener = cay::bench::listen_and_tell();
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  for (;;) std::thread(serve, cay::bench::next_client(listener), port).detach();
}
