// A connection's request, head and body, as the listener has it parsed. However the bytes are cut,
// it is the same request, and one whose length could be read in two ways is none.
#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/assert.h"
#include "http/request_head.h"
#include "http/text.h"

namespace {

namespace bhttp = boost::beast::http;
using namespace cay::http;

constexpr std::uint32_t kMaxHead = 16 * 1024;  // ListenerConfig's
constexpr std::size_t kMostBody = 64 * 1024;

struct Seen {
  enum class End { kMore, kBroken, kRefused, kWhole } end = End::kMore;
  RequestHead head;
  bool chunked = false;
  std::string body;
  std::size_t used = 0;  // bytes of the input
};

Seen read(std::string_view bytes, std::size_t piece) {
  Seen seen;
  RequestParser parser;
  parser.header_limit(kMaxHead);
  parser.body_limit(boost::none);
  std::string in;
  bool have_head = false;
  char room[512];
  while (seen.body.size() < kMostBody) {
    auto& body = parser.get().body();
    body.data = room;
    body.size = sizeof room;
    boost::beast::error_code error;
    std::size_t used = 0;
    if (!in.empty()) used = parser.put(boost::asio::buffer(in), error);
    in.erase(0, used);
    seen.used += used;
    seen.body.append(room, sizeof room - body.size);
    if (error == bhttp::error::need_buffer || error == bhttp::error::need_more) error = {};
    if (error) {
      seen.end = Seen::End::kBroken;
      return seen;
    }
    if (!have_head && parser.is_header_done()) {
      have_head = true;
      auto head = head_of(parser.get(), "192.0.2.1:1", false);
      if (const auto* bad = std::get_if<BadRequest>(&head)) {
        CAY_ASSERT(bad->status >= 400 && bad->status <= 501 && !bad->error.message.empty());
        seen.end = Seen::End::kRefused;
        return seen;
      }
      seen.head = std::get<RequestHead>(std::move(head));
      seen.chunked = parser.chunked();
      CAY_ASSERT(!seen.chunked || !seen.head.headers.get("Content-Length"));
    }
    if (parser.is_done()) {
      seen.end = Seen::End::kWhole;
      return seen;
    }
    if (used > 0) continue;
    if (bytes.empty()) return seen;
    in += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return seen;
}

void expect_sound(const RequestHead& head) {
  CAY_ASSERT(head.host.find_first_of(std::string_view(" \t\r\n\0/@", 7)) == std::string::npos);
  CAY_ASSERT(head.target.find_first_of(std::string_view("\r\n\0 ", 4)) == std::string::npos);
  int lengths = 0;
  for (const auto& [name, value] : head.headers.items()) {
    CAY_ASSERT(is_token(name) &&
               value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    lengths += cay::equals_ignoring_case(name, "Content-Length") ||
                       cay::equals_ignoring_case(name, "Transfer-Encoding")
                   ? 1
                   : 0;
  }
  CAY_ASSERT(lengths <= 1);
  if (head.upgrades()) CAY_ASSERT(head.method == "GET" && !head.headers.get("Transfer-Encoding"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Seen whole = read(bytes, size);
  if (whole.end == Seen::End::kRefused || whole.end == Seen::End::kBroken) return 0;
  expect_sound(whole.head);
  const Seen cut = read(bytes, data[0] % 64 + std::size_t{1});
  CAY_ASSERT(cut.end == whole.end && cut.body == whole.body && cut.chunked == whole.chunked);
  CAY_ASSERT(cut.head.host == whole.head.host && cut.head.segments == whole.head.segments);
  CAY_ASSERT(cut.head.headers.items() == whole.head.headers.items());
  if (whole.end == Seen::End::kWhole) CAY_ASSERT(cut.used == whole.used);
  return 0;
}
