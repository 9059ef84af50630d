// The WebSocket of a command: byte-exact streams with offsets. openapi.json describes the frames.
#include "api/common/command_session.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"
#include "core/verbs/sandboxes.h"
#include "model/command_limits.h"

#include <boost/asio/this_coro.hpp>

namespace cay::api::native {
namespace {

using codec::json::object;

constexpr std::size_t kHeader = 10;  // u8 stream | u8 flags | u64 offset, little-endian
constexpr unsigned char kAfterEnd = 1;

std::string_view stream_name(Stream stream) {
  return stream == Stream::kStdout ? "stdout" : "stderr";
}

Bytes data_frame(const core::OutputData& data) {
  Bytes out;
  out.reserve(kHeader + data.bytes.size());
  out.push_back(static_cast<char>(data.stream));
  out.push_back(static_cast<char>(data.after_end ? kAfterEnd : 0));
  for (unsigned shift = 0; shift < 64; shift += 8)
    out.push_back(static_cast<char>((data.offset >> shift) & 0xff));
  out += data.bytes;
  return out;
}

class NativeSession : public CommandSession {
 public:
  using CommandSession::CommandSession;

 protected:
  Task<core::Reader> open(http::WsMessage first) override {
    if (first.kind != http::WsMessage::Kind::kText)
      co_return bad_frame("the first frame must be text: start or attach");
    auto body = codec::parse_object(first.data);
    if (!body) co_return std::move(body).error();
    codec::Fields fields(*body);
    std::string type;
    fields.read("type", type);
    if (type == "start") {
      CommandSpec spec;
      codec::read_command_spec(fields, spec);
      fields.refuse_unknown();
      auto good = fields.first_error();
      if (!good) co_return std::move(good).error();
      auto reader = co_await cay_.commands().run(who_, ref_, std::move(spec));
      co_return reader;
    }
    if (type == "attach") {
      std::string id;
      if (!fields.read("id", id)) fields.complain("id", "is needed: the command to attach to");
      core::OutputOffsets from;
      read_offset(fields, "stdout_offset", from.out);
      read_offset(fields, "stderr_offset", from.err);
      fields.refuse_unknown();
      auto good = fields.first_error();
      if (!good) co_return std::move(good).error();
      auto reader = co_await cay_.commands().attach(who_, ref_, CommandId(id), from);
      co_return reader;
    }
    co_return bad_frame("type must be start or attach in the first frame");
  }

  Task<void> started(Command command) override {
    auto sent = co_await send({{"type", "started"}, {"command", codec::to_json(command)}});
    co_return sent;
  }

  Task<void> output(core::OutputEvent event) override {
    if (auto* data = std::get_if<core::OutputData>(&event)) {
      auto sent = co_await socket_->send_binary(data_frame(*data));
      co_return sent;
    }
    if (auto* gap = std::get_if<core::OutputGap>(&event)) {
      auto sent = co_await send({{"type", "gap"},
                                 {"stream", stream_name(gap->stream)},
                                 {"offset", gap->offset},
                                 {"length", gap->length}});
      co_return sent;
    }
    const Command command = std::get<core::OutputEnd>(event).command;
    auto sent = co_await send({{"type", "end"}, {"command", codec::to_json(command)}});
    co_return sent;
  }

  Task<void> failed(Error error) override {
    auto sent =
        co_await send({{"type", "error"}, {"error", codec::to_json(error, note_error(error))}});
    co_return sent;
  }

  Task<void> stdin_refused(Error error) override {
    auto sent = co_await warn(std::move(error));
    co_return sent;
  }

  Task<void> message(http::WsMessage got) override {
    if (got.kind == http::WsMessage::Kind::kBinary) {
      if (got.data.empty() || got.data[0] != 0) {
        auto sent = co_await warn(bad_frame("binary frames are stdin: a byte 0, then the bytes"));
        co_return sent;
      }
      got.data.erase(0, 1);
      co_await feed(std::move(got.data));
      co_return Result<void>();
    }
    auto obeyed = co_await obey(std::move(got.data));
    if (obeyed) co_return obeyed;
    auto sent = co_await warn(std::move(obeyed).error());
    co_return sent;
  }

 private:
  static Error bad_frame(std::string message) { return invalid("bad_frame", std::move(message)); }

  static void read_offset(codec::Fields& fields, std::string_view name, std::uint64_t& out) {
    std::int64_t value = 0;
    if (fields.read(name, value, 0, INT64_MAX)) out = static_cast<std::uint64_t>(value);
  }

  Task<void> obey(std::string text) {
    auto body = codec::parse_object(text);
    if (!body) co_return std::move(body).error();
    codec::Fields fields(*body);
    std::string type;
    fields.read("type", type);
    if (type == "stdin_close") {
      feed_end();
      co_return Result<void>();
    }
    if (type == "kill") {
      const int signal = codec::read_signal(fields);
      auto good = fields.first_error();
      if (!good) co_return good;
      auto killed = co_await kill(signal);
      co_return killed;
    }
    if (type == "resize") {
      const auto size = codec::read_pty_size(fields);
      auto good = fields.first_error();
      if (!good) co_return good;
      auto resized = co_await resize(*size);
      co_return resized;
    }
    co_return bad_frame("type must be stdin_close, kill or resize");
  }

  Task<void> warn(Error error) {
    auto sent =
        co_await send({{"type", "warning"}, {"error", codec::to_json(error, note_error(error))}});
    co_return sent;
  }

  Task<void> send(object frame) {
    auto sent = co_await socket_->send_text(codec::write(frame));
    co_return sent;
  }
};

}  // namespace

Task<void> command_stream(core::Cay& cay, std::shared_ptr<InputRoom> room, ExchangePtr exchange) {
  if (!exchange->head().wants_websocket) {
    co_return invalid("upgrade_needed", "this route is a WebSocket: connect with an Upgrade");
  }
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  auto known = co_await cay.sandboxes().get(who, ref);  // an unknown one is an ordinary 404
  if (!known) co_return std::move(known).error();
  auto socket = co_await exchange->upgrade(kMaxCommandRequest);
  if (!socket) co_return std::move(socket).error();
  auto executor = co_await asio::this_coro::executor;
  NativeSession session(cay, who, known->id, *std::move(socket), std::move(room), executor);
  session.on_command = [exchange](const CommandId& id) {
    exchange->note_subject("command " + id.get());
  };
  co_await session.run();
  co_return Result<void>();
}

}  // namespace cay::api::native
