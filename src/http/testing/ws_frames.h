// WebSocket frames as raw bytes (RFC 6455, 5.2), for tests that send what no library would.
#pragma once
#include <string>
#include <string_view>

namespace cay::http::testing {

enum class WsOpcode {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10
};
enum class WsRole { kClient, kServer };  // a client masks

inline std::string encode_frame(WsRole role, WsOpcode opcode, std::string_view payload) {
  constexpr unsigned char kFinal = 0x80;
  std::string out(1, static_cast<char>(kFinal | static_cast<unsigned char>(opcode)));
  const unsigned char mask = role == WsRole::kClient ? 0x80 : 0;
  const std::size_t size = payload.size();
  const int width = size < 126 ? 0 : size < 65'536 ? 2 : 8;
  out.push_back(static_cast<char>(mask | (width == 0 ? size : width == 2 ? 126u : 127u)));
  for (int i = width - 1; i >= 0; --i) out.push_back(static_cast<char>((size >> (8 * i)) & 0xff));
  if (mask == 0) return out + std::string(payload);
  constexpr std::string_view kKey = "\x11\x22\x33\x44";
  out += kKey;
  for (std::size_t i = 0; i < size; ++i)
    out.push_back(static_cast<char>(payload[i] ^ kKey[i % kKey.size()]));
  return out;
}

inline std::string close_payload(int code, std::string_view reason) {
  return std::string{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)} +
         std::string(reason);
}

}  // namespace cay::http::testing
