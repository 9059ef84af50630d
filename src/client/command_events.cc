#include "client/command_events.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/json_read.h"

namespace cay::client {
namespace {

using News = std::optional<sdk::Event>;

constexpr std::size_t kOutputHead = 10;  // u8 stream | u8 flags | u64 offset, little-endian
constexpr std::uint8_t kAfterEnd = 1;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    out = (out << 8) | static_cast<std::uint8_t>(bytes[i - 1]);
  return out;
}

}  // namespace

Error protocol_error(const std::string& what) {
  return {Code::kInternal, "bad_frame",
          "the server sent a frame this client does not understand: " + what, 0};
}

Result<std::optional<sdk::Event>> CommandEvents::take_output(std::string data) {
  if (data.size() < kOutputHead) return protocol_error("a short output frame");
  const auto number = static_cast<std::uint8_t>(data[0]);
  if (number != 1 && number != 2) return protocol_error("stream " + std::to_string(number));
  sdk::Output output;
  output.stream = static_cast<sdk::Stream>(number);
  output.after_end = (static_cast<std::uint8_t>(data[1]) & kAfterEnd) != 0;
  output.offset = little_endian(std::string_view(data).substr(2, 8));
  data.erase(0, kOutputHead);
  std::uint64_t& at = offset_of(output.stream);
  if (output.offset > at) {
    return Error{Code::kLost, "stream_hole",
                 "output bytes " + std::to_string(at) + " to " + std::to_string(output.offset) +
                     " did not come",
                 0};
  }
  const std::uint64_t known =
      at - output.offset;  // sent before: a reader that was quicker than its offsets
  if (known >= data.size()) return News();
  data.erase(0, known);
  output.offset = at;
  at += data.size();
  output.bytes = std::move(data);
  return News(std::move(output));
}

Result<std::optional<sdk::Event>> CommandEvents::take_gap(const json::object& message) {
  sdk::Gap gap;
  gap.stream =
      string_in(message, "stream") == "stderr" ? sdk::Stream::kStderr : sdk::Stream::kStdout;
  gap.offset = number_in(message, "offset");
  gap.length = number_in(message, "length");
  std::uint64_t& at = offset_of(gap.stream);
  const std::uint64_t end = gap.offset + gap.length;
  if (end <= at) return News();
  gap.length = end - std::max(at, gap.offset);
  gap.offset = std::max(at, gap.offset);
  at = end;
  return News(gap);
}

Result<std::optional<sdk::Event>> CommandEvents::take_text(const std::string& text) {
  CAY_TRY(auto message, codec::parse_object(text));
  const std::string type = string_in(message, "type");
  if (type == "gap") return take_gap(message);
  if (type == "end") {
    const auto* command = message.if_contains("command");
    if (command == nullptr || !command->is_object())
      return protocol_error("an end without its command");
    ended_ = true;
    return News(sdk::End{command_from(command->get_object())});
  }
  if (type == "error") {
    ended_ = true;
    const auto* inner = message.if_contains("error");
    if (inner == nullptr || !inner->is_object())
      return protocol_error("an error without its members");
    return error_from_json(inner->get_object(), Code::kInternal);
  }
  return News();  // a warning, or a frame of a later version
}

Result<std::optional<sdk::Event>> CommandEvents::take(http::WsMessage message) {
  if (message.kind == http::WsMessage::Kind::kTooLong) return protocol_error(message.data);
  if (message.kind == http::WsMessage::Kind::kBinary) return take_output(std::move(message.data));
  return take_text(message.data);
}

}  // namespace cay::client
