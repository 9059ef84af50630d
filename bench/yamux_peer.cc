// A minimal daemon's side of a LangSmith tunnel: the same frames for bench_yamux_client, and behind
// them a connection to PORT of 127.0.0.1, whatever port the request names. A blocking thread for
// each direction, and no checks. Its throughput is what the protocol leaves on this machine.
//
//     bench_yamux_peer PORT      prints the port of 127.0.0.1 that it listens on
#include <signal.h>

#include <thread>
#include <vector>

#include "yamux_bytes.h"

namespace {

using namespace cay::bench;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kTheirWindow =
    1 << 20;  // what the client may send ahead: the peer's own choice
constexpr std::size_t kBuffer = 512 * 1024;

struct Session {
  int client, server;
  std::mutex writing;
  Credit credit;

  bool send(const std::string& frames) {
    const std::string out = message_head(frames.size(), Mask::kOff) + frames;
    const std::lock_guard lock(writing);
    return send_all(client, out.data(), out.size());
  }
};

void pass_down(Session& session) {
  Splice through;
  for (;;) {
    const std::size_t room = session.credit.take(kWindow);
    if (room == 0) return;
    const ssize_t got = through.take(session.server, room);
    if (got <= 0) break;
    const auto size = static_cast<std::size_t>(got);
    session.credit.give(room - size);
    const std::string heads = message_head(kHeader + size, Mask::kOff) + header(kData, 0, size);
    const std::lock_guard lock(session.writing);
    if (::send(session.client, heads.data(), heads.size(), MSG_MORE) < 0 ||
        !through.give(session.client, size))
      return;
  }
  session.send(header(kData, kFin, 0));
}

void pass_up(Session& session) {
  std::vector<char> buffer(kBuffer);
  std::size_t held = 0, read = 0;
  std::uint64_t message = 0, of_message = 0;  // bytes that are left of it, and that have been seen
  std::size_t frame = 0;                      // bytes that are left of its payload
  char key[4] = {};
  std::size_t skip = 3;  // the port of the request
  std::string head;
  for (;;) {
    const ssize_t got = ::recv(session.client, buffer.data() + held, buffer.size() - held, 0);
    if (got <= 0) return;
    held += static_cast<std::size_t>(got);
    std::size_t at = 0;
    while (at < held) {
      const std::size_t have = held - at;
      if (message == 0) {
        if (have < 2) break;
        const auto code = static_cast<std::uint8_t>(buffer[at + 1] & 0x7f);
        const std::size_t more = code == 127 ? 8 : code == 126 ? 2 : 0;
        if (have < 2 + more + 4) break;
        message = more > 0 ? number(&buffer[at + 2], more) : code;
        std::memcpy(key, &buffer[at + 2 + more], 4);
        of_message = 0;
        at += 2 + more + 4;
        continue;
      }
      const std::size_t here =
          std::min<std::size_t>({have, message, frame > 0 ? frame : kHeader - head.size()});
      apply_mask(&buffer[at], here, key, of_message);
      of_message += here;
      message -= here;
      if (frame == 0) {
        head.append(&buffer[at], here);
        at += here;
        if (head.size() < kHeader) continue;
        const auto length = static_cast<std::size_t>(number(&head[8], 4));
        if (head[1] == kWindowUpdate) session.credit.give(length);
        if (head[1] == kData) frame = length;
        if ((number(&head[2], 2) & kFin) != 0) ::shutdown(session.server, SHUT_WR);
        head.clear();
        continue;
      }
      const std::size_t drop = std::min(skip, here);
      skip -= drop;
      if (!send_all(session.server, &buffer[at + drop], here - drop)) return;
      at += here;
      frame -= here;
      read += here;
      if (read >= kTheirWindow / 4) {
        if (!session.send(header(kWindowUpdate, 0, read))) return;
        read = 0;
      }
    }
    held -= at;
    std::memmove(buffer.data(), buffer.data() + at, held);
  }
}

void serve(int client, std::uint16_t port) {
  std::string request;
  for (char byte = 0; !request.ends_with("\r\n\r\n") && ::recv(client, &byte, 1, 0) == 1;)
    request.push_back(byte);
  const std::string answer =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  send_all(client, answer.data(), answer.size());
  Session session{client, dial(port), {}, {}};
  session.send(header(kWindowUpdate, kAck, kTheirWindow - kWindow) + header(kData, 0, 1) +
               std::string(1, '\0'));
  session.credit.take(1);
  std::thread down(pass_down, std::ref(session));
  pass_up(session);
  session.credit.end();
  ::shutdown(session.server, SHUT_RDWR);
  down.join();
  ::close(client);
  ::close(session.server);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  const int listener = listen_and_tell();
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  for (;;) std::thread(serve, next_client(listener), port).detach();
}
