// A client of the LangSmith tunnel in compiled code: what the daemon's side of that tunnel gives
// apart from what the vendor's Python client costs. A blocking thread for each direction, a session
// for each local connection, and the window that all known clients have.
//
//     bench_yamux_client DAEMON_PORT PATH KEY REMOTE_PORT     prints the port of 127.0.0.1 that it
//     listens on
#include <signal.h>

#include <thread>
#include <vector>

#include "yamux_bytes.h"

namespace {

using namespace cay::bench;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kPiece = 64 * 1024;

struct Session {
  int socket;
  std::mutex writing;
  Credit credit;

  bool send(char* bytes, std::size_t size) {
    const std::lock_guard lock(writing);
    return send_all(socket, bytes, size);
  }
  bool send(const std::string& frames) {
    std::string out = message_head(frames.size(), Mask::kOn);
    const std::size_t head = out.size();
    out += frames;
    apply_mask(out.data() + head, frames.size(), kKey, 0);
    return send(out.data(), out.size());
  }
};

// Reads messages until the peer ends, and passes the stream's bytes on to `local`. The first one is
// the tunnel's answer.
void pass_down(Session& session, int local) {
  Splice through;
  std::size_t read = 0;  // of the stream, and not granted again yet
  bool answered = false;
  for (;;) {
    char head[kHeader];
    if (!receive_all(session.socket, head, 2) || (head[0] & 0x0f) == 8) return;
    const auto code = static_cast<std::uint8_t>(head[1]);
    const std::size_t more = code == 127 ? 8 : code == 126 ? 2 : 0;
    if (!receive_all(session.socket, head, more)) return;
    std::uint64_t left = more > 0 ? number(head, more) : code;
    while (left > 0) {  // frames: none begins in one message and ends in another, as Cay sends them
      if (!receive_all(session.socket, head, kHeader)) return;
      left -= kHeader;
      const auto type = static_cast<std::uint8_t>(head[1]);
      const std::uint64_t flags = number(head + 2, 2);
      std::size_t length = number(head + 8, 4);
      if (type == kWindowUpdate) session.credit.give(length);
      if ((flags & kRst) != 0) return;
      if (type == kData) {
        left -= length;
        if (length > 0 && !answered) {
          char status = 0;
          if (!receive_all(session.socket, &status, 1) || status != 0) return;
          answered = true;
          --length;
          ++read;
        }
        while (length > 0) {
          const ssize_t got = through.take(session.socket, length);
          if (got <= 0 || !through.give(local, static_cast<std::size_t>(got))) return;
          length -= static_cast<std::size_t>(got);
          read += static_cast<std::size_t>(got);
          if (read < kWindow / 2) continue;
          if (!session.send(header(kWindowUpdate, 0, read))) return;
          read = 0;
        }
      }
      if ((flags & kFin) != 0) ::shutdown(local, SHUT_WR);
    }
  }
}

void pass_up(int local, Session& session) {
  constexpr std::size_t kHeads = kMostHead + kHeader;
  std::vector<char> buffer(kHeads + kPiece);
  for (;;) {
    const std::size_t room = session.credit.take(kPiece);
    if (room == 0) return;
    const ssize_t got = ::recv(local, buffer.data() + kHeads, room, 0);
    if (got <= 0) break;
    const auto size = static_cast<std::size_t>(got);
    session.credit.give(room - size);
    const std::string frame = header(kData, 0, size),
                      message = message_head(kHeader + size, Mask::kOn);
    char* const at = buffer.data() + kHeads - kHeader;
    std::memcpy(at, frame.data(), kHeader);
    apply_mask(at, kHeader + size, kKey, 0);
    char* const begin = at - message.size();
    std::memcpy(begin, message.data(), message.size());
    if (!session.send(begin, message.size() + kHeader + size)) return;
  }
  session.send(header(kData, kFin, 0));
}

void serve(int local, std::uint16_t port, const std::string& path, const std::string& key,
           std::uint16_t remote) {
  Session session{dial(port), {}, {}};
  const std::string upgrade =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + key +
      "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
  send_all(session.socket, upgrade.data(), upgrade.size());
  std::string answer;  // byte by byte: what follows it is the session's
  for (char byte = 0; !answer.ends_with("\r\n\r\n") && ::recv(session.socket, &byte, 1, 0) == 1;)
    answer.push_back(byte);
  if (answer.starts_with("HTTP/1.1 101")) {
    std::string request;
    put(request, 1, 1);
    put(request, remote, 2);
    session.credit.take(request.size());
    session.send(header(kWindowUpdate, kSyn, 0) + header(kData, 0, request.size()) + request);
    std::thread up(pass_up, local, std::ref(session));
    pass_down(session, local);
    session.credit.end();
    ::shutdown(local, SHUT_RDWR);
    ::shutdown(session.socket, SHUT_RDWR);
    up.join();
  } else {
    std::fprintf(stderr, "bench_yamux_client: %s\n", answer.substr(0, answer.find('\r')).c_str());
  }
  ::close(local);
  ::close(session.socket);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  const int listener = listen_and_tell();
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  const auto remote = static_cast<std::uint16_t>(std::atoi(argv[4]));
  for (;;)
    std::thread(serve, next_client(listener), port, std::string(argv[2]), std::string(argv[3]),
                remote)
        .detach();
}
