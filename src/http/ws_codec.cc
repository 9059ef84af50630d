// WebSocket frames as bytes (RFC 6455, 5 and 7.4).
#include "http/ws_codec.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace cay::http {

namespace {

constexpr std::size_t kMaxControl = 125;

bool is_control(WsOpcode opcode) { return (static_cast<unsigned>(opcode) & 8u) != 0; }

bool is_known(unsigned opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

bool is_close_code(int code) {
  if (code >= 3000 && code <= 4999) return true;
  return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

void apply_mask(char* data, std::size_t size, const unsigned char (&mask)[4]) {
  for (std::size_t i = 0; i < size; ++i) {
    data[i] = static_cast<char>(static_cast<unsigned char>(data[i]) ^ mask[i & 3]);
  }
}

unsigned byte_at(std::string_view in, std::size_t at) { return static_cast<unsigned char>(in[at]); }

std::uint64_t big_endian(std::string_view in) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < in.size(); ++i) value = value << 8 | byte_at(in, i);
  return value;
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned first = byte_at(text, i);
    if (first < 0x80) {
      ++i;
      continue;
    }
    std::size_t more = 0;
    unsigned low = 0x80;
    unsigned high = 0xbf;
    if (first >= 0xc2 && first <= 0xdf) {
      more = 1;
    } else if (first >= 0xe0 && first <= 0xef) {
      more = 2;
      if (first == 0xe0) low = 0xa0;   // overlong
      if (first == 0xed) high = 0x9f;  // surrogates
    } else if (first >= 0xf0 && first <= 0xf4) {
      more = 3;
      if (first == 0xf0) low = 0x90;
      if (first == 0xf4) high = 0x8f;  // above U+10FFFF
    } else {
      return false;
    }
    if (text.size() - i <= more) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      const unsigned next = byte_at(text, i + k);
      if (next < low || next > high) return false;
      low = 0x80;
      high = 0xbf;
    }
    i += more + 1;
  }
  return true;
}

std::string encode_frame(WsRole sender, WsOpcode opcode, std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + 14);
  out.push_back(static_cast<char>(0x80u | static_cast<unsigned>(opcode)));
  const unsigned masked = sender == WsRole::kClient ? 0x80u : 0u;
  if (payload.size() <= 125) {
    out.push_back(static_cast<char>(masked | static_cast<unsigned>(payload.size())));
  } else if (payload.size() <= 0xffff) {
    out.push_back(static_cast<char>(masked | 126u));
    append_big_endian(out, payload.size(), 2);
  } else {
    out.push_back(static_cast<char>(masked | 127u));
    append_big_endian(out, payload.size(), 8);
  }
  if (masked == 0) return out.append(payload);
  unsigned char mask[4];
  CAY_ASSERT(::getrandom(mask, sizeof mask, 0) == static_cast<ssize_t>(sizeof mask));
  for (unsigned char m : mask) out.push_back(static_cast<char>(m));
  const auto head = out.size();
  out.append(payload);
  apply_mask(out.data() + head, payload.size(), mask);
  return out;
}

std::string close_payload(int code, std::string_view reason) {
  std::string out;
  append_big_endian(out, static_cast<std::uint64_t>(code), 2);
  auto size = std::min<std::size_t>(reason.size(), kMaxControl - 2);
  while (size > 0 && !is_utf8(reason.substr(0, size))) --size;
  return out.append(reason.substr(0, size));
}

void WsParser::fail(int code, std::string reason) {
  fault_ = WsEvent{WsEvent::Kind::kFault, std::move(reason), code};
}

std::optional<WsParser::Frame> WsParser::take_frame() {
  const auto in = std::string_view(in_).substr(begin_);
  if (in.size() < 2) return std::nullopt;
  const unsigned first = byte_at(in, 0);
  const unsigned second = byte_at(in, 1);
  const bool masked = (second & 0x80u) != 0;
  if ((first & 0x70u) != 0) return fail(1002, "reserved bits are set"), std::nullopt;
  if (!is_known(first & 15u)) return fail(1002, "unknown opcode"), std::nullopt;
  if (masked != (receiver_ == WsRole::kServer)) {
    return fail(1002, masked ? "a server must not mask" : "a client must mask"), std::nullopt;
  }
  Frame frame;
  frame.fin = (first & 0x80u) != 0;
  frame.opcode = static_cast<WsOpcode>(first & 15u);
  std::uint64_t length = second & 0x7fu;
  std::size_t head = 2;
  if (length >= 126) {
    const std::size_t wide = length == 126 ? 2 : 8;
    if (in.size() < head + wide) return std::nullopt;
    length = big_endian(in.substr(head, wide));
    head += wide;
  }
  if (is_control(frame.opcode)) {
    if (!frame.fin || length > kMaxControl) return fail(1002, "malformed control frame"), std::nullopt;
  } else {
    const bool continues = frame.opcode == WsOpcode::kContinuation;
    if (continues != message_kind_.has_value()) return fail(1002, "fragments out of order"), std::nullopt;
    if (length > max_message_ - message_.size()) {
      return fail(1009, "a message may have " + std::to_string(max_message_) + " bytes"), std::nullopt;
    }
  }
  if (masked) head += 4;
  if (in.size() < head + length) return std::nullopt;
  frame.payload = in.substr(head, length);
  if (masked) {
    unsigned char mask[4];
    std::memcpy(mask, in.data() + head - 4, 4);
    apply_mask(frame.payload.data(), frame.payload.size(), mask);
  }
  begin_ += head + length;
  if (begin_ == in_.size()) {
    in_.clear();
    begin_ = 0;
  } else if (begin_ > 64 * 1024) {
    in_.erase(0, begin_);
    begin_ = 0;
  }
  return frame;
}

WsEvent WsParser::accept_close(const std::string& payload) {
  WsEvent close{WsEvent::Kind::kClose, {}, 1005};
  if (payload.empty()) return close;
  const WsEvent bad{WsEvent::Kind::kFault, "malformed close frame", 1002};
  if (payload.size() < 2) return bad;
  close.code = static_cast<int>(big_endian(std::string_view(payload).substr(0, 2)));
  close.data = payload.substr(2);
  if (!is_close_code(close.code)) return bad;
  if (!is_utf8(close.data)) return WsEvent{WsEvent::Kind::kFault, "the close reason is not UTF-8", 1007};
  return close;
}

std::optional<WsEvent> WsParser::accept(Frame frame) {
  switch (frame.opcode) {
    case WsOpcode::kPing: return WsEvent{WsEvent::Kind::kPing, std::move(frame.payload), 0};
    case WsOpcode::kPong: return WsEvent{WsEvent::Kind::kPong, std::move(frame.payload), 0};
    case WsOpcode::kClose: return accept_close(frame.payload);
    case WsOpcode::kText:
    case WsOpcode::kBinary:
      message_kind_ = frame.opcode;
      message_ = std::move(frame.payload);
      break;
    case WsOpcode::kContinuation: message_.append(frame.payload); break;
  }
  if (!frame.fin) return std::nullopt;
  const bool text = message_kind_ == WsOpcode::kText;
  message_kind_.reset();
  WsEvent event{text ? WsEvent::Kind::kText : WsEvent::Kind::kBinary, std::exchange(message_, {}), 0};
  if (text && !is_utf8(event.data)) return WsEvent{WsEvent::Kind::kFault, "a text message is not UTF-8", 1007};
  return event;
}

std::optional<WsEvent> WsParser::next() {
  while (!ended_) {
    auto frame = take_frame();
    std::optional<WsEvent> event;
    if (fault_) {
      event = std::move(fault_);
    } else if (!frame) {
      return std::nullopt;
    } else {
      event = accept(*std::move(frame));
    }
    if (!event) continue;
    ended_ = event->kind == WsEvent::Kind::kClose || event->kind == WsEvent::Kind::kFault;
    return event;
  }
  return std::nullopt;
}

}  // namespace cay::http
