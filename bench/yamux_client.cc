// A client of the LangSmith tunnel (yamux over a WebSocket, protocol reference, section 5) in compiled code: what the daemon's
// side of that tunnel gives apart from what the vendor's Python client costs. A blocking thread for each direction, a
// session for each local connection, and the window that all known clients have.
//
//     bench_yamux_client DAEMON_PORT PATH KEY REMOTE_PORT     prints the port of 127.0.0.1 that it listens on
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sockets.h"

namespace {

constexpr std::size_t kWindow = 256 * 1024;
constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kHeader = 12;
constexpr std::uint32_t kStream = 1;
enum Type : std::uint8_t { kData = 0, kWindowUpdate = 1, kPing = 2 };
enum Flag : std::uint16_t { kSyn = 1, kAck = 2, kFin = 4, kRst = 8 };

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>((value >> shift) & 0xff));
}

std::uint32_t number(const char* at, int bytes) {
  std::uint32_t out = 0;
  for (int i = 0; i < bytes; ++i) out = out << 8 | static_cast<std::uint8_t>(at[i]);
  return out;
}

std::string header(Type type, std::uint16_t flags, std::uint32_t stream, std::uint32_t length) {
  std::string out;
  put(out, 0, 1);
  put(out, type, 1);
  put(out, flags, 2);
  put(out, stream, 4);
  put(out, length, 4);
  return out;
}

class Session {
 public:
  explicit Session(int socket) : socket_(socket) {}

  // One message. A client masks what it sends (RFC 6455, section 5.3), and so does this one.
  bool send(const std::string& head, const char* payload = nullptr, std::size_t size = 0) {
    const std::size_t length = head.size() + size;
    std::string out;
    out.reserve(length + 14);
    out.push_back('\x82');
    if (length < 126) {
      put(out, 0x80 | length, 1);
    } else if (length < 65536) {
      put(out, 0x80 | 126, 1);
      put(out, length, 2);
    } else {
      put(out, 0x80 | 127, 1);
      put(out, length, 8);
    }
    out.append("\x12\x34\x56\x78", 4);
    const std::size_t from = out.size();
    out += head;
    if (size > 0) out.append(payload, size);
    mask(out.data() + from, length);
    const std::lock_guard lock(writing_);
    return cay::bench::send_all(socket_, out.data(), out.size());
  }

  // At most `most` bytes of credit, at least one. 0: the session is over.
  std::size_t take_credit(std::size_t most) {
    std::unique_lock lock(crediting_);
    credited_.wait(lock, [this] { return credit_ > 0 || over_; });
    if (over_) return 0;
    const std::size_t out = std::min(most, credit_);
    credit_ -= out;
    return out;
  }
  void give_credit(std::size_t bytes) {
    const std::lock_guard lock(crediting_);
    credit_ += bytes;
    credited_.notify_all();
  }
  void end() {
    const std::lock_guard lock(crediting_);
    over_ = true;
    credited_.notify_all();
  }

  // Reads messages until the peer ends, and passes the stream's bytes on to `local`. The first one is the tunnel's answer.
  void read(int local) {
    std::vector<char> buffer(1 << 20);
    std::size_t held = 0;
    std::uint64_t left_of_message = 0;
    std::uint32_t left_of_frame = 0;
    bool answered = false;
    std::string head;
    for (;;) {
      const ssize_t got = ::recv(socket_, buffer.data() + held, buffer.size() - held, 0);
      if (got <= 0) return;
      held += static_cast<std::size_t>(got);
      std::size_t at = 0;
      while (at < held) {
        if (left_of_message == 0) {
          const std::size_t have = held - at;
          if (have < 2) break;
          const auto code = static_cast<std::uint8_t>(buffer[at + 1]);
          const std::size_t size = code == 127 ? 10 : code == 126 ? 4 : 2;
          if (have < size) break;
          left_of_message = code == 127 ? number(&buffer[at + 6], 4) : code == 126 ? number(&buffer[at + 2], 2) : code;
          if ((buffer[at] & 0x0f) == 8) return;
          at += size;
          continue;
        }
        const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(left_of_message, held - at));
        if (left_of_frame == 0) {
          const std::size_t need = std::min(here, kHeader - head.size());
          head.append(&buffer[at], need);
          at += need;
          left_of_message -= need;
          if (head.size() < kHeader) continue;
          const auto type = static_cast<std::uint8_t>(head[1]);
          const std::uint32_t flags = number(&head[2], 2), length = number(&head[8], 4);
          head.clear();
          if (type == kWindowUpdate) give_credit(length);
          if ((flags & kRst) != 0) return;
          if ((flags & kFin) != 0) ::shutdown(local, SHUT_WR);
          if (type == kData) left_of_frame = length;
          continue;
        }
        const std::size_t piece = std::min<std::size_t>(here, left_of_frame);
        const std::size_t skip = answered ? 0 : 1;
        answered = true;
        if (!cay::bench::send_all(local, &buffer[at + skip], piece - skip)) return;
        at += piece;
        left_of_message -= piece;
        left_of_frame -= static_cast<std::uint32_t>(piece);
        read_ += piece;
        if (read_ >= kWindow / 2) {
          if (!send(header(kWindowUpdate, 0, kStream, static_cast<std::uint32_t>(read_)))) return;
          read_ = 0;
        }
      }
      held -= at;
      std::memmove(buffer.data(), buffer.data() + at, held);
    }
  }

 private:
  static void mask(char* bytes, std::size_t size) {
    const char key[4] = {'\x12', '\x34', '\x56', '\x78'};
    std::uint64_t wide = 0;
    std::memcpy(&wide, key, 4);
    wide |= wide << 32;
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, 8);
      word ^= wide;
      std::memcpy(bytes + at, &word, 8);
    }
    for (; at < size; ++at) bytes[at] = static_cast<char>(bytes[at] ^ key[at % 4]);
  }

  int socket_;
  std::mutex writing_, crediting_;
  std::condition_variable credited_;
  std::size_t credit_ = kWindow;
  std::size_t read_ = 0;  // of the stream, and not granted again yet
  bool over_ = false;
};

void pass_up(int local, Session& session) {
  std::vector<char> buffer(kPiece);
  for (;;) {
    const ssize_t got = ::recv(local, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      const std::size_t piece = session.take_credit(static_cast<std::size_t>(got) - at);
      if (piece == 0 || !session.send(header(kData, 0, kStream, static_cast<std::uint32_t>(piece)), buffer.data() + at, piece)) return;
      at += piece;
    }
  }
  session.send(header(kData, kFin, kStream, 0));
}

void serve(int local, std::uint16_t port, const std::string& path, const std::string& key, std::uint16_t remote) {
  const int socket = cay::bench::dial(port);
  const std::string upgrade = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + key +
                              "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
  cay::bench::send_all(socket, upgrade.data(), upgrade.size());
  std::string answer;  // byte by byte: what follows it is the session's
  for (char byte = 0; !answer.ends_with("\r\n\r\n") && ::recv(socket, &byte, 1, 0) == 1;) answer.push_back(byte);
  if (answer.starts_with("HTTP/1.1 101")) {
    Session session(socket);
    std::string request;
    put(request, 1, 1);
    put(request, remote, 2);
    session.take_credit(request.size());
    session.send(header(kWindowUpdate, kSyn, kStream, 0) +
                 header(kData, 0, kStream, static_cast<std::uint32_t>(request.size())) + request);
    std::thread up(pass_up, local, std::ref(session));
    session.read(local);
    session.end();
    ::shutdown(local, SHUT_RDWR);
    up.join();
  } else {
    std::fprintf(stderr, "bench_yamux_client: %s\n", answer.substr(0, answer.find('\r')).c_str());
  }
  ::close(local);
  ::close(socket);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  const int listener = cay::bench::listen_and_tell();
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  const auto remote = static_cast<std::uint16_t>(std::atoi(argv[4]));
  for (;;) std::thread(serve, cay::bench::next_client(listener), port, std::string(argv[2]), std::string(argv[3]), remote).detach();
}
