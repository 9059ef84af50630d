#include "client/command_stream.h"

#include <algorithm>

#include "client/api.h"
#include "client/json_read.h"
#include "client/retry.h"
#include "client/socket_end.h"
#include "model/ids.h"

namespace cay::client {
namespace {

constexpr std::size_t kOutputHead = 10;  // u8 stream | u8 flags | u64 offset, little-endian
constexpr std::uint8_t kAfterEnd = 1;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    out = (out << 8) | static_cast<std::uint8_t>(bytes[i - 1]);
  return out;
}

Error protocol_error(const std::string& what) {
  return {Code::kInternal, "bad_frame",
          "the server sent a frame this client does not understand: " + what, 0};
}

}  // namespace

bool worth_a_retry(const Error& error) {
  return error.code == Code::kUnavailable || error.reason == "connect_timeout";
}

Task<std::unique_ptr<CommandStream>> CommandStream::start(Connection& connection, std::string ref,
                                                          json::object spec) {
  std::unique_ptr<CommandStream> out(new CommandStream(connection, std::move(ref)));
  out->id_ = string_in(spec, "id");
  if (out->id_.empty()) {
    out->id_ = new_uuid();
    spec["id"] = out->id_;
  }
  out->spec_ = std::move(spec);
  CAY_CO_CHECK(co_await out->begin());  // the first refusal is told at once
  co_return std::move(out);
}

Task<std::unique_ptr<CommandStream>> CommandStream::attach(Connection& connection, std::string ref,
                                                           std::string id, sdk::Offsets from) {
  std::unique_ptr<CommandStream> out(new CommandStream(connection, std::move(ref)));
  out->id_ = std::move(id);
  out->offsets_ = from;
  out->confirmed_ = true;
  CAY_CO_CHECK(co_await out->begin());
  co_return std::move(out);
}

Task<void> CommandStream::begin() {
  CAY_CO_TRY(at_, co_await id_of(connection_, ref_));
  co_return co_await connect_once();
}

Task<void> CommandStream::connect_once() {
  auto socket = co_await connection_.websocket(sandbox_target(at_, "/commands/ws"));
  if (!socket) co_return std::move(socket).error();
  socket_ = *std::move(socket);
  json::object first;
  if (confirmed_) {
    first = {{"type", "attach"},
             {"id", id_},
             {"stdout_offset", offsets_.out},
             {"stderr_offset", offsets_.err}};
  } else {
    first = spec_;
    first["type"] = "start";
  }
  std::string text = codec::write(first);
  auto sent = co_await socket_->send_text(std::move(text));
  static_cast<void>(sent);  // if it was not taken, the next message has the reason
  const auto message = co_await socket_->read();
  if (message.kind == http::WsMessage::Kind::kClosed) {
    co_return error_of_end(message).while_doing("the command has not begun");
  }
  auto parsed = codec::parse_object(message.data);
  if (!parsed) co_return protocol_error(parsed.error().message);
  const std::string type = string_in(*parsed, "type");
  if (type == "error") {
    const auto* inner = parsed->if_contains("error");
    if (inner == nullptr || !inner->is_object())
      co_return protocol_error("an error without its members");
    co_return error_from_json(inner->get_object(), Code::kInternal);
  }
  const auto* command = parsed->if_contains("command");
  if (type != "started" || command == nullptr || !command->is_object())
    co_return protocol_error("no `started`");
  started_ = command_from(command->get_object());
  confirmed_ = true;
  co_return Result<void>();
}

Task<void> CommandStream::connect() {
  Retry retry(connection_.executor(), connection_.options().reconnect_for_s);
  while (true) {
    auto done = co_await connect_once();
    if (done || !worth_a_retry(done.error())) co_return done;
    socket_.reset();
    auto again = co_await retry.pause();
    if (!again) co_return done;
  }
}

Task<sdk::Event> CommandStream::next() {
  if (ended_)
    co_return Error{Code::kOutOfRange, "command_ended", "the command has ended: there is no more",
                    0};
  Retry retry(connection_.executor(), connection_.options().reconnect_for_s);
  while (true) {
    if (!socket_) {
      CAY_CO_CHECK(co_await connect());
    }
    auto message = co_await socket_->read();
    if (message.kind == http::WsMessage::Kind::kClosed) {
      socket_.reset();
      last_end_ = error_of_end(message).message;
      auto again = co_await retry.pause();  // bounds sockets that open and break without an event
      if (!again) {
        co_return Error{Code::kUnavailable, "connection_lost",
                        last_end_ +
                            "; no other was had in time, and the command may still run: "
                            "`cay attach " +
                            ref_ + " " + id_ + "`",
                        0};
      }
      continue;
    }
    sdk::Event event;
    auto taken = take(std::move(message), event);
    if (!taken) co_return std::move(taken).error();
    if (*taken) co_return event;
  }
}

Result<bool> CommandStream::take(http::WsMessage message, sdk::Event& out) {
  if (message.kind == http::WsMessage::Kind::kTooLong) return protocol_error(message.data);
  if (message.kind == http::WsMessage::Kind::kBinary)
    return take_output(std::move(message.data), out);
  return take_text(message.data, out);
}

Result<bool> CommandStream::take_output(std::string data, sdk::Event& out) {
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
  if (known >= data.size()) return false;
  data.erase(0, known);
  output.offset = at;
  at += data.size();
  output.bytes = std::move(data);
  out = std::move(output);
  return true;
}

Result<bool> CommandStream::take_gap(const json::object& message, sdk::Event& out) {
  sdk::Gap gap;
  gap.stream =
      string_in(message, "stream") == "stderr" ? sdk::Stream::kStderr : sdk::Stream::kStdout;
  gap.offset = number_in(message, "offset");
  gap.length = number_in(message, "length");
  std::uint64_t& at = offset_of(gap.stream);
  const std::uint64_t end = gap.offset + gap.length;
  if (end <= at) return false;
  gap.length = end - std::max(at, gap.offset);
  gap.offset = std::max(at, gap.offset);
  at = end;
  out = gap;
  return true;
}

Result<bool> CommandStream::take_text(const std::string& text, sdk::Event& out) {
  CAY_TRY(auto message, codec::parse_object(text));
  const std::string type = string_in(message, "type");
  if (type == "gap") return take_gap(message, out);
  if (type == "end") {
    const auto* command = message.if_contains("command");
    if (command == nullptr || !command->is_object())
      return protocol_error("an end without its command");
    ended_ = true;
    out = sdk::End{command_from(command->get_object())};
    return true;
  }
  if (type == "error") {
    ended_ = true;
    const auto* inner = message.if_contains("error");
    if (inner == nullptr || !inner->is_object())
      return protocol_error("an error without its members");
    return error_from_json(inner->get_object(), Code::kInternal);
  }
  return false;  // a warning, or a frame of a later version
}

Task<void> CommandStream::post(std::string rest, std::string body) {
  Retry retry(connection_.executor(), connection_.options().reconnect_for_s);
  const std::string target = sandbox_target(at_, "/commands/" + http::encode_segment(id_) + rest);
  while (true) {
    auto answer = co_await connection_.call("POST", target, body);
    if (answer) co_return Result<void>();
    if (!worth_a_retry(answer.error())) co_return std::move(answer).error();
    auto again = co_await retry.pause();
    if (!again) co_return std::move(answer).error();
  }
}

Task<void> CommandStream::write_stdin(std::string bytes) {
  Retry retry(connection_.executor(), connection_.options().reconnect_for_s);
  const std::string target =
      sandbox_target(at_, "/commands/" + http::encode_segment(id_) + "/stdin");
  while (true) {
    auto source = source_of(bytes);
    auto answer =
        co_await connection_.upload("POST", target, "application/octet-stream", std::move(source));
    if (answer) co_return Result<void>();
    Error error = std::move(answer).error();
    if (error.reason == "connection_lost") {
      co_return Error{
          Code::kLost, "stdin_uncertain",
          "the connection broke while input was on its way: nobody knows whether it arrived", 0};
    }
    if (error.reason != "connect_failed" && error.reason != "connect_timeout") co_return error;
    auto again = co_await retry.pause();  // it was never sent
    if (!again) co_return error;
  }
}

Task<void> CommandStream::close_stdin() { return post("/stdin/close", {}); }

Task<void> CommandStream::kill(int signal) {
  return post("/kill",
              signal == 0 ? std::string("{}") : "{\"signal\":" + std::to_string(signal) + "}");
}

Task<void> CommandStream::resize(sdk::TerminalSize size) {
  return post("/resize", "{\"rows\":" + std::to_string(size.rows) +
                             ",\"cols\":" + std::to_string(size.cols) + "}");
}

}  // namespace cay::client
