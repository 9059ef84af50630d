// WebSocket frames as bytes (RFC 6455, 5). Pure; fuzzed. Not Beast's: once a write has failed that one
// reads no more, and a `kill` that a client sent just before it dropped the connection would be lost.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cay::http {

enum class WsRole { kServer, kClient };  // clients mask, servers must not
enum class WsOpcode : std::uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

// One whole, unfragmented frame. A client's mask must be unpredictable: it comes from getrandom.
std::string encode_frame(WsRole sender, WsOpcode opcode, std::string_view payload);
std::string close_payload(int code, std::string_view reason);  // the reason is cut at 123 bytes

bool is_utf8(std::string_view text);

struct WsEvent {
  enum class Kind { kText, kBinary, kPing, kPong, kClose, kFault } kind = Kind::kFault;
  std::string data;  // kClose, kFault: the reason
  int code = 0;      // kClose: 1005 for none; kFault: the code to close with
};

// Puts frames and messages together. After kClose or kFault it gives nothing more.
class WsParser {
 public:
  WsParser(WsRole receiver, std::size_t max_message) : receiver_(receiver), max_message_(max_message) {}
  void append(std::string_view bytes) { in_.append(bytes); }
  std::optional<WsEvent> next();
  std::size_t buffered() const { return in_.size() - begin_; }

 private:
  struct Frame {
    bool fin = false;
    WsOpcode opcode = WsOpcode::kContinuation;
    std::string payload;
  };
  std::optional<Frame> take_frame();           // sets fault_
  std::optional<WsEvent> accept(Frame frame);  // nullopt: a fragment, more to come
  WsEvent accept_close(const std::string& payload);
  void fail(int code, std::string reason);

  WsRole receiver_;
  std::size_t max_message_;
  std::string in_;
  std::size_t begin_ = 0;
  std::string message_;
  std::optional<WsOpcode> message_kind_;
  std::optional<WsEvent> fault_;
  bool ended_ = false;
};

}  // namespace cay::http
