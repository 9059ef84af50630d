// ProtocolDetector: pieces of any size lead to the same answer, which never changes. It finds
// all that a strict reader or another parser takes for a request or a ClientHello.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "gate/detect_protocol.h"
#include "gate/first_bytes.h"

namespace {

namespace bhttp = boost::beast::http;
using cay::gate::Proof;

bool is_a_request(std::string_view bytes) {
  bhttp::request_parser<bhttp::empty_body> parser;
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  return parser.is_header_done();
}

// RFC 9112, 3, of a whole line.
bool is_a_request_line(std::string_view bytes) {
  bytes = bytes.substr(std::min(bytes.find_first_not_of("\r\n"), bytes.size()));
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const std::size_t method = line.find(' '), target = line.find(' ', method + 1);
  if (method == std::string_view::npos || target == std::string_view::npos) return false;
  const auto is_token = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (c != 0 && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  };
  const auto is_visible = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; };
  return method > 0 && target > method + 1 &&
         std::ranges::all_of(line.substr(0, method), is_token) &&
         std::ranges::all_of(line.substr(method + 1, target - method - 1), is_visible) &&
         line.substr(target + 1).starts_with("HTTP/");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cay::gate;
  using State = Shown::State;
  constexpr std::size_t kCuts = 3;
  if (size < kCuts) return 0;
  const std::uint8_t* const cuts = data + (size - kCuts);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size - kCuts);
  const auto found = ProtocolDetector().add(bytes);
  ProtocolDetector in_pieces;
  std::string_view rest = bytes;
  std::optional<Proof> last;
  for (std::size_t i = 0; i <= kCuts; ++i) {
    const std::size_t piece = i < kCuts ? cuts[i] * rest.size() / 256 : rest.size();
    const auto now = in_pieces.add(rest.substr(0, piece));
    rest.remove_prefix(piece);
    if (last) CAY_ASSERT(now == last);
    last = now;
  }
  CAY_ASSERT(last == found);
  CAY_ASSERT((found == Proof::kHttp) == is_a_request_line(bytes));
  CAY_ASSERT((found == Proof::kTls) == bytes.starts_with("\x16\x03"));
  if (is_a_request(bytes)) CAY_ASSERT(found == Proof::kHttp);
  if (read_request_head(bytes).state == State::kName) CAY_ASSERT(found == Proof::kHttp);
  const Shown hello = read_client_hello(bytes);
  if (hello.size > 0) CAY_ASSERT(found == Proof::kTls);
  return 0;
}
