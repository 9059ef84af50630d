#include "client/command_stream.h"

#include "client/api.h"
#include "client/json_read.h"
#include "client/retry.h"
#include "client/socket_end.h"
#include "client/waited_start.h"
#include "model/ids.h"

namespace cay::client {

bool worth_a_retry(const Error& error) {
  return error.code == Code::kUnavailable || error.reason == "connect_timeout";
}

std::string may_still_run(const std::string& ref, const std::string& id) {
  return "the command may still run: `cay attach " + ref + " " + id + "`";
}

Task<std::unique_ptr<CommandStream>> CommandStream::start(Connection& connection, std::string ref,
                                                          json::object spec, double wait_s) {
  std::unique_ptr<CommandStream> out(new CommandStream(connection, std::move(ref)));
  out->id_ = string_in(spec, "id");
  if (out->id_.empty()) {
    out->id_ = new_uuid();
    spec["id"] = out->id_;
  }
  out->spec_ = std::move(spec);
  CAY_CO_CHECK(co_await out->begin(wait_s));  // reports the first refusal at once
  co_return std::move(out);
}

Task<std::unique_ptr<CommandStream>> CommandStream::attach(Connection& connection, std::string ref,
                                                           std::string id, sdk::Offsets from) {
  std::unique_ptr<CommandStream> out(new CommandStream(connection, std::move(ref)));
  out->id_ = std::move(id);
  out->events_ = CommandEvents(from);
  out->confirmed_ = true;
  CAY_CO_CHECK(co_await out->begin());
  co_return std::move(out);
}

Task<void> CommandStream::begin(double wait_s) {
  CAY_CO_TRY(at_, co_await id_of(connection_, ref_));
  if (wait_s <= 0) {
    auto connected = co_await connect_once();
    co_return connected;
  }
  auto got = co_await start_and_wait(connection_, at_, spec_, wait_s);
  if (!got && needs_a_stream(got.error())) {
    auto connected = co_await connect_once();  // by its id it is the same command
    co_return connected;
  }
  if (!got) co_return std::move(got).error();
  started_ = std::move(got->command);
  ready_ = std::move(got->events);
  confirmed_ = true;
  co_return Result<void>();
}

Task<void> CommandStream::connect_once() {
  auto socket = co_await connection_.websocket(sandbox_target(at_, "/commands/ws"));
  if (!socket) co_return std::move(socket).error();
  socket_ = *std::move(socket);
  json::object first;
  if (confirmed_) {
    first = {{"type", "attach"},
             {"id", id_},
             {"stdout_offset", events_.offsets().out},
             {"stderr_offset", events_.offsets().err}};
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
  if (!ready_.empty()) {
    sdk::Event event = std::move(ready_.front());
    ready_.pop_front();
    over_ = ready_.empty();
    co_return event;
  }
  if (over_ || events_.ended())
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
                        last_end_ + "; no other was had in time, and " + may_still_run(ref_, id_),
                        0};
      }
      continue;
    }
    auto taken = events_.take(std::move(message));
    if (!taken) co_return std::move(taken).error();
    if (*taken) co_return **std::move(taken);
  }
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
