#include "gate/first_bytes.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"

namespace cay::gate {
namespace {

using State = Shown::State;

constexpr std::size_t kMostHost = 253;
constexpr std::size_t kMostMethod = 16;
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kRecordHead = 5;
constexpr std::size_t kMostRecord = (1 << 14) + 256;
constexpr int kChangeCipherSpec = 20;
constexpr int kHandshake = 22;
constexpr int kApplicationData = 23;
constexpr int kClientHello = 1;
constexpr std::size_t kServerName = 0;
constexpr std::size_t kHostName = 0;

Shown named(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  const bool fine =
      !host.empty() && host.size() <= kMostHost && std::ranges::all_of(host, [](char c) {
        return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
      });
  if (!fine) return {.state = State::kOther};
  return {.state = State::kName, .host = lowered(host)};
}

Shown no_end_in(std::string_view bytes) {
  return {.state = bytes.size() >= kMostFirstBytes ? State::kOther : State::kMore};
}

// Takes numbers and parts from the front; sticks at the first that is not there.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  std::size_t number(std::size_t size) {
    const std::string_view bytes = take(size);
    std::size_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      short_ = true;
      return {};
    }
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view part(std::size_t length_size) { return take(number(length_size)); }
  bool is_short() const { return short_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool short_ = false;
};

struct Hello {
  std::string message;   // without its head; a part of it where `size` is 0
  std::size_t size = 0;  // of the records that it came in
};

// A ClientHello may be cut into several records; here they are together. nullopt: not TLS, or
// something comes with it in its last record.
std::optional<Hello> hello_of(std::string_view bytes) {
  Hello out;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    if (static_cast<unsigned char>(rest[0]) != kHandshake) return std::nullopt;
    if (rest.size() >= 2 && rest[1] != 3) return std::nullopt;
    if (rest.size() < kRecordHead) return out;
    const std::size_t length = Cursor(rest.substr(3)).number(2);
    if (length == 0 || length > kMostFirstBytes) return std::nullopt;
    const std::size_t whole = out.message.size() + length;
    out.message += rest.substr(kRecordHead, length);
    if (out.message.size() >= 4) {
      Cursor head(out.message);
      if (head.number(1) != kClientHello) return std::nullopt;
      const std::size_t need = head.number(3) + 4;
      if (need > kMostFirstBytes || whole > need) return std::nullopt;
      if (out.message.size() == need) {
        out.message.erase(0, 4);
        out.size = at + kRecordHead + length;
        return out;
      }
    }
    at += kRecordHead + length;
  }
  return out;
}

Shown server_name_in(std::string_view extension) {
  Cursor list(extension);
  Cursor names(list.part(2));
  if (list.is_short() || !list.empty()) return {.state = State::kOther};
  if (names.number(1) != kHostName || names.is_short()) return {.state = State::kOther};
  const std::string_view host = names.part(2);
  // One name: RFC 6066 forbids a second of the same type, and there is no other type.
  if (names.is_short() || !names.empty()) return {.state = State::kOther};
  return named(host);
}

}  // namespace

Shown read_client_hello(std::string_view bytes) {
  const auto hello = hello_of(bytes);
  if (!hello) return {.state = State::kOther};
  if (hello->size == 0) return no_end_in(bytes);
  Cursor at(hello->message);
  at.take(2 + 32);  // version, random
  at.part(1);       // session
  at.part(2);       // cipher suites
  at.part(1);       // compressions
  if (at.is_short()) return {.state = State::kOther};
  Shown found{.state = State::kNone, .size = hello->size};
  if (at.empty()) return found;
  Cursor extensions(at.part(2));
  if (at.is_short() || !at.empty()) return {.state = State::kOther};
  while (!extensions.empty()) {
    const std::size_t type = extensions.number(2);
    const std::string_view body = extensions.part(2);
    if (extensions.is_short()) return {.state = State::kOther};
    if (type != kServerName) continue;
    if (found.state != State::kNone) return {.state = State::kOther};  // twice
    found = server_name_in(body);
    if (found.state != State::kName) return found;
    found.size = hello->size;
  }
  return found;
}

Shown read_next_hello(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::string_view rest = bytes.substr(at);
    const int type = static_cast<unsigned char>(rest[0]);
    if (type != kChangeCipherSpec && type != kApplicationData) break;
    if (rest.size() < kRecordHead) return {};
    const std::size_t length = Cursor(rest.substr(3)).number(2);
    if (rest[1] != 3 || length == 0 || length > kMostRecord ||
        (type == kChangeCipherSpec && length != 1))
      return {.state = State::kOther};
    if (at + kRecordHead + length > kMostFirstBytes) return {.state = State::kOther};
    if (rest.size() < kRecordHead + length) return {};
    at += kRecordHead + length;
  }
  Shown out = read_client_hello(bytes.substr(at));
  if (out.size > 0) out.size += at;
  return out;
}

Shown read_request_head(std::string_view bytes, std::size_t looked) {
  // After the method only the end of the head decides.
  const std::size_t end =
      bytes.find(kHeadEnd, looked > kMostMethod ? looked - (kHeadEnd.size() - 1) : 0);
  if (looked > kMostMethod && end == std::string_view::npos) return no_end_in(bytes);
  // Bytes that cannot become a request are rejected at once: the server may speak first in their
  // protocol.
  const std::string_view first = bytes.substr(0, bytes.find("\r\n"));
  const std::size_t blank = first.find(' ');
  const std::string_view method = first.substr(0, blank);
  if (method.empty() && !bytes.empty()) return {.state = State::kOther};
  if (method.size() > kMostMethod || !std::ranges::all_of(method, is_upper))
    return {.state = State::kOther};
  if (blank == std::string_view::npos && first.size() < bytes.size())
    return {.state = State::kOther};  // a whole line
  if (end == std::string_view::npos) return no_end_in(bytes);
  const std::string_view head = bytes.substr(0, end);
  const std::string_view line = head.substr(0, head.find("\r\n"));
  if (blank == std::string_view::npos ||
      !(line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0")))
    return {.state = State::kOther};
  // Some servers prefer the host of an absolute target to the Host header. CONNECT requests a
  // tunnel.
  if (line.size() <= blank + 1 || (line[blank + 1] != '/' && line[blank + 1] != '*') ||
      method == "CONNECT")
    return {.state = State::kOther};
  if (line.find(' ', blank + 1) != line.rfind(' ')) return {.state = State::kOther};
  // A lone CR or LF ends the line for some servers, and what follows is then a header.
  if (!std::ranges::all_of(line, [](char c) { return c >= ' ' && c != 0x7f; }))
    return {.state = State::kOther};
  std::optional<std::string_view> host;
  std::string_view rest = head.substr(std::min(head.size(), line.size() + 2));
  while (!rest.empty()) {
    const std::size_t stop = std::min(rest.find("\r\n"), rest.size());
    const std::string_view field = rest.substr(0, stop);
    rest.remove_prefix(std::min(rest.size(), stop + 2));
    // A lone CR or LF, a folded line, or a name with a blank are read differently by different
    // servers.
    if (field.empty() || field.front() == ' ' || field.front() == '\t' ||
        field.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return {.state = State::kOther};
    }
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos || colon == 0) return {.state = State::kOther};
    if (!std::ranges::all_of(field.substr(0, colon), [](char c) { return c > ' ' && c < 0x7f; }))
      return {.state = State::kOther};
    if (!std::ranges::equal(field.substr(0, colon), std::string_view("host"), {}, lower)) continue;
    if (host) return {.state = State::kOther};
    std::string_view value = field.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    host = value;
  }
  if (!host || host->empty()) return {.state = State::kNone, .size = end + 4};
  const std::size_t colon = host->find(':');
  if (colon != std::string_view::npos) {
    const std::string_view port = host->substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::ranges::all_of(port, is_digit))
      return {.state = State::kOther};
  }
  Shown out = named(host->substr(0, colon));
  if (out.state == State::kName) out.size = end + 4;
  return out;
}

Shown read_first_bytes(Proof proof, std::string_view bytes, std::size_t looked) {
  switch (proof) {
    case Proof::kNone: return {.state = State::kNone};
    case Proof::kHttp: return read_request_head(bytes, looked);
    case Proof::kTls: return read_client_hello(bytes);
  }
  return {.state = State::kOther};
}

}  // namespace cay::gate
