// CommandEvents: decodes the messages of a command's WebSocket into events, without a byte twice.
#pragma once
#include <optional>
#include <string>

#include "cay/types.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::client {

namespace json = codec::json;

class CommandEvents {
 public:
  // Bytes before `from` are passed over.
  explicit CommandEvents(sdk::Offsets from = {}) : offsets_(from) {}

  // Returns the event of a message, or nothing for one without news. Fails kLost "stream_hole" if
  // the daemon skipped bytes, kInternal "bad_frame", and with the error that the message holds.
  Result<std::optional<sdk::Event>> take(http::WsMessage message);

  sdk::Offsets offsets() const { return offsets_; }  // where a reconnection begins
  bool ended() const { return ended_; }              // after the End or an error of the daemon

 private:
  Result<std::optional<sdk::Event>> take_text(const std::string& text);
  Result<std::optional<sdk::Event>> take_output(std::string data);
  Result<std::optional<sdk::Event>> take_gap(const json::object& message);
  std::uint64_t& offset_of(sdk::Stream stream) {
    return stream == sdk::Stream::kStdout ? offsets_.out : offsets_.err;
  }

  sdk::Offsets offsets_;
  bool ended_ = false;
};

// A frame that this client does not understand.
Error protocol_error(const std::string& what);

}  // namespace cay::client
