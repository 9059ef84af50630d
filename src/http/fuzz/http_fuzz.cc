// Heads, targets, chunked bodies and WebSocket frames from hostile peers: whatever the bytes, a value
// or a refusal, and the same one however the bytes were cut into pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "http/chunked.h"
#include "http/head_parser.h"
#include "http/target.h"
#include "http/text.h"
#include "http/url.h"
#include "http/ws_codec.h"

namespace {

using namespace cay::http;

void try_heads(std::string_view in) {
  auto request = parse_request_head(in);
  if (const auto* parsed = std::get_if<ParsedRequest>(&request)) {
    CAY_ASSERT(!(parsed->framing.chunked && parsed->framing.length));
    CAY_ASSERT(in.find("\n ") == std::string_view::npos && in.find("\n\t") == std::string_view::npos);
    for (const auto& segment : parsed->head.segments) CAY_ASSERT(segment.find('\0') == std::string::npos);
    for (const auto& [name, value] : parsed->head.headers.items()) {
      CAY_ASSERT(is_token(name) && value.find_first_of("\r\n") == std::string::npos);
    }
  }
  auto response = parse_response_head(in);
  if (const auto* parsed = std::get_if<ParsedResponse>(&response)) CAY_ASSERT(parsed->status >= 100);
}

void try_target(std::string_view in) {
  if (const auto parts = split_target(in)) {
    static_cast<void>(split_path(parts->path));
    static_cast<void>(Query::parse(parts->query));
  }
  static_cast<void>(parse_url(in));
}

struct Decoded {
  std::string out;
  ChunkDecoder::State state;
  std::size_t used;
};

Decoded decode_in_pieces(std::string_view in, std::size_t piece) {
  ChunkDecoder decoder;
  Decoded got{{}, ChunkDecoder::State::kMore, 0};
  while (got.used < in.size() && got.state == ChunkDecoder::State::kMore) {
    auto part = in.substr(got.used, piece);
    const auto before = part.size();
    got.state = decoder.decode(part, got.out, in.size());
    got.used += before - part.size();
  }
  return got;
}

void try_chunks(std::string_view in) {
  const auto whole = decode_in_pieces(in, in.size() + 1);
  const auto bytes = decode_in_pieces(in, 1);
  CAY_ASSERT(whole.state == bytes.state && whole.out == bytes.out && whole.used == bytes.used);
}

std::string read_frames(std::string_view in, WsRole role, std::size_t piece) {
  WsParser parser(role, 1000);
  std::string seen;
  for (std::size_t at = 0; at < in.size(); at += piece) {
    parser.append(in.substr(at, piece));
    while (const auto event = parser.next()) {
      CAY_ASSERT(event->kind != WsEvent::Kind::kText || is_utf8(event->data));
      CAY_ASSERT(event->data.size() <= 1000);
      seen += std::to_string(static_cast<int>(event->kind)) + ":" + std::to_string(event->code) + ":" + event->data + ";";
    }
  }
  return seen;
}

void try_frames(std::string_view in) {
  for (const auto role : {WsRole::kServer, WsRole::kClient}) {
    CAY_ASSERT(read_frames(in, role, in.size() + 1) == read_frames(in, role, 1));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  try_heads(in);
  try_target(in);
  try_chunks(in);
  try_frames(in);
  return 0;
}
