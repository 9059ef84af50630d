// A server's response: its head, and where its messages end.
//
// However the bytes are cut, the same boundaries are found, and they are those of a plainer parser.
// No content is lost. A packed or partial response is refused, in upper and lower case.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/assert.h"
#include "http/upstream.h"
#include "tests/fuzz/pieces.h"
#include "vault/message_boundaries.h"
#include "vault/readable.h"

namespace {

using namespace cay;
using Kind = vault::MessageBoundaries::Kind;

struct Heard {
  std::string text, asides;
  std::size_t last = 0;
  bool operator==(const Heard&) const = default;
};

// The messages of a WebSocket, by RFC 6455, 5.2.
Heard messages_of(std::string_view bytes) {
  Heard out;
  bool in_message = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view left = bytes.substr(at);
    const auto byte = [left](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(left[i])};
    };
    const std::uint64_t opcode = byte(0) & 15;
    const bool control = opcode >= 8, final = byte(0) >= 128;
    bool wrong = (byte(0) & 0x70) != 0 ||
                 (control ? opcode > 10 || !final : opcode > 2 || (opcode == 0) != in_message);
    std::size_t head = 2;
    std::uint64_t size = 0;
    if (!wrong && left.size() >= head) {
      size = byte(1);
      wrong = size > 127 || (control && size > 125);
      if (size > 125) head = size == 126 ? 4 : 10;
      if (!wrong && head > 2 && left.size() >= head) {
        size = 0;
        for (std::size_t i = 2; i < head; ++i) size = size << 8 | byte(i);
        wrong = size < (head == 4 ? 126U : 65'536U) || size >> 63 != 0;
      }
    }
    if (wrong) out.text += left;
    if (wrong || left.size() < head) break;
    const std::string_view said = left.substr(head, static_cast<std::size_t>(size));
    (control ? out.asides : out.text) += said;
    if (said.size() < size) break;
    at += head + said.size();
    if (!control) in_message = !final;
    if (!in_message) out.last = at;
  }
  return out;
}

Heard heard(Kind kind, std::string_view bytes) {
  if (kind == Kind::kMessages) return messages_of(bytes);
  Heard out{std::string(bytes), "", 0};
  if (kind == Kind::kLines) out.last = bytes.rfind('\n') + 1;
  if (kind != Kind::kEvents) return out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = bytes.find_first_of("\r\n", begin);
    if (end == std::string_view::npos) return out;
    const std::size_t next = end + (bytes.substr(end, 2) == "\r\n" ? 2 : 1);
    if (end == begin) out.last = next;
    begin = next;
  }
}

void expect_boundaries(Kind kind, std::string_view bytes, std::uint8_t where) {
  fuzz::Pieces pieces(bytes, where);
  vault::MessageBoundaries boundaries(kind);
  Heard got;
  std::size_t came = 0;
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    boundaries.read(piece, got.text, got.asides);
    came += piece.size();
    CAY_ASSERT(boundaries.received() == came && boundaries.last() <= came &&
               boundaries.last() >= got.last);
    got.last = static_cast<std::size_t>(boundaries.last());
    CAY_ASSERT(got == heard(kind, bytes.substr(0, came)));
  }
  CAY_ASSERT(came == bytes.size());
}

char other_case(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter ? static_cast<char>(c ^ 0x20) : c;
}

// Builds a response from lines "Name: value".
http::UpstreamAnswer answer_of(int status, std::string_view head, bool in_other_case) {
  http::UpstreamAnswer out;
  out.status = status;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    std::string name(line.substr(0, line.find(':')));
    if (in_other_case) std::ranges::transform(name, name.begin(), other_case);
    out.headers.add(
        std::move(name),
        std::string(trimmed(line.substr(std::min(line.find(':'), line.size() - 1) + 1))));
  }
  return out;
}

// Why it must not go on; empty: it may.
std::string wrong_with(const http::UpstreamAnswer& answer, bool has_body) {
  bool packed = false, part = answer.status == 206;
  for (const auto& [name, value] : answer.headers.items()) {
    const std::string key = lowered(name), text = lowered(value);
    packed = packed || (has_body && key == "content-encoding" && text != "identity") ||
             (key == "sec-websocket-extensions" && !text.empty());
    part = part || key == "content-range" ||
           (key == "content-type" && text.find("multipart/byteranges") == 0);
  }
  return packed ? "answer_unreadable" : part ? "answer_partial" : "";
}

Kind kind_of_head(int status, std::string_view head, bool has_body) {
  const auto answer = answer_of(status, head, false), other = answer_of(status, head, true);
  const auto fine = vault::check_readable(answer, has_body),
             again = vault::check_readable(other, has_body);
  CAY_ASSERT((fine ? "" : fine.error().reason) == wrong_with(answer, has_body));
  CAY_ASSERT((fine ? "" : fine.error().reason) == (again ? "" : again.error().reason));
  const Kind kind = vault::boundaries_of(answer);
  CAY_ASSERT(kind == vault::boundaries_of(other));
  CAY_ASSERT((kind == Kind::kMessages) <= (status == 101) &&
             (kind == Kind::kEvents || kind == Kind::kLines) <= (status != 101));
  // With two types it is unclear which one counts, so there are no boundaries.
  auto two = answer;
  two.headers.add("Content-Type", "text/event-stream");
  if (two.headers.get("Content-Type") != "text/event-stream" && status != 101)
    CAY_ASSERT(vault::boundaries_of(two) == Kind::kNone);
  return kind;
}

}  // namespace

// The first byte chooses how the bytes are cut. The second chooses the kind of boundaries, the
// status, and whether a body follows. Kind 0 is read from the head, which an empty line ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  constexpr Kind kKinds[] = {Kind::kNone, Kind::kEvents, Kind::kLines, Kind::kMessages};
  constexpr int kStatus[] = {200, 206, 101, 416};
  Kind kind = kKinds[data[1] & 3];
  if ((data[1] & 3) == 0) {
    const std::size_t end = std::min(bytes.find("\n\n"), bytes.size());
    kind = kind_of_head(kStatus[data[1] >> 2 & 3], bytes.substr(0, end), (data[1] & 16) != 0);
    bytes.remove_prefix(std::min(end + 2, bytes.size()));
  }
  expect_boundaries(kind, bytes, data[0]);
  return 0;
}
