#include "api/langsmith/execute_stream.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "api/common/request_body.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/frames.h"
#include "async/channel.h"
#include "async/deadline.h"
#include "async/scope.h"
#include "codec/base64.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"
#include "core/verbs/events.h"
#include "core/verbs/sandboxes.h"
#include "model/command_limits.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

// The bytes of both streams in one response before the client must acknowledge. These clients know
// the number from their vendor.
constexpr std::uint64_t kUnacknowledged = 1 << 20;
// The raw bytes in one event. A connection that breaks often still gets this much across whole.
constexpr std::size_t kPiece = 16 * 1024;

struct DaemonEnds {};
using Item = std::variant<Result<core::OutputEvent>, DaemonEnds>;

// The events that a response waits for. The coroutines that wait for it share it, because they may
// be unwound after the response is gone.
struct Source {
  Source(asio::any_io_executor executor, core::Reader from)
      : reader(std::move(from)), items(executor, 1) {}
  core::Reader reader;
  Channel<Item> items;
};

asio::awaitable<void> read_on(std::shared_ptr<Source> source) {
  for (;;) {
    auto event = co_await source->reader->next();
    const bool last = !event || std::holds_alternative<core::OutputEnd>(*event);
    Item item(std::in_place_index<0>, std::move(event));
    const bool taken = co_await source->items.push(std::move(item));
    if (last || !taken) co_return;
  }
}

asio::awaitable<void> tell_end(core::Cay& cay, std::shared_ptr<Source> source) {
  co_await cay.events().until_ended();
  Item item(DaemonEnds{});
  const bool taken = co_await source->items.push(std::move(item));
  static_cast<void>(taken);
}

Task<Item> pop(std::shared_ptr<Source> source) {
  auto item = co_await source->items.pop();
  if (!item)
    co_return Error{Code::kInternal, "stream_closed", "the stream of events was closed", 0};
  co_return *std::move(item);
}

std::string_view name_of(Stream stream) { return stream == Stream::kStdout ? "stdout" : "stderr"; }

// Returns the note in the place of `length` dropped bytes. It is never longer than they were, so
// that the offsets stay.
std::string note_of(std::uint64_t length) {
  std::string note = "\n[" + std::to_string(length) + " bytes of output were dropped here]\n";
  if (note.size() > length) note.resize(static_cast<std::size_t>(length));
  return note;
}

class CommandEvents final : public ByteSource {
 public:
  CommandEvents(core::Cay& cay, core::Reader reader, core::OutputOffsets from,
                StreamSettings settings, asio::any_io_executor executor)
      : settings_(settings),
        command_(reader->command()),
        at_{from.out, from.err},
        source_(std::make_shared<Source>(executor, std::move(reader))),
        children_(executor) {
    children_.spawn(read_on(source_));
    children_.spawn(tell_end(cay, source_));
  }

  Task<Bytes> next() override {
    if (over_) co_return Bytes();
    if (!greeted_) {
      greeted_ = true;
      co_return event("started", {{"command_id", command_.id.get()}, {"pid", command_.pid}});
    }
    auto item = source_->items.try_pop();
    if (!item) {
      auto waiting = pop(source_);
      auto got =
          co_await with_deadline<Item>(std::move(waiting), settings_.heartbeat, "the next output");
      if (!got && got.error().code == Code::kDeadlineExceeded)
        co_return Bytes(": still running\n\n");
      if (!got) co_return std::move(got).error();
      item = *std::move(got);
    }
    co_return tell(*std::move(item));
  }

 private:
  static Bytes event(std::string_view kind, const json::object& data) {
    Bytes out = "event: ";
    out += kind;
    out += "\ndata: " + codec::write(data) + "\n\n";  // JSON has no line breaks of its own
    return out;
  }
  static Bytes refusal(std::string_view type, std::string_view message) {
    return event("error", {{"error", codec::text(message)}, {"error_type", type}});
  }

  Bytes tell(Item item) {
    if (std::holds_alternative<DaemonEnds>(item)) {
      over_ = true;
      return refusal("ServerShuttingDown",
                     "the daemon is being restarted; the command goes on: resume at these offsets");
    }
    auto& got = std::get<0>(item);
    if (!got) {
      over_ = true;
      const auto error_id = note_error(got.error());
      return refusal("CommandError", got.error().message + " (error_id=" + error_id + ")");
    }
    if (auto* data = std::get_if<core::OutputData>(&*got)) return tell(*data);
    if (const auto* gap = std::get_if<core::OutputGap>(&*got)) {
      const std::string note = note_of(gap->length);
      return piece(gap->stream, gap->offset + gap->length - note.size(), note);
    }
    return tell(std::get<core::OutputEnd>(*got).command);
  }

  Bytes tell(const core::OutputData& data) {
    if (data.after_end) return ":\n\n";  // of children left: `exit` is the last word here
    return piece(data.stream, data.offset, data.bytes);
  }

  Bytes piece(Stream stream, std::uint64_t offset, std::string_view bytes) {
    std::uint64_t& at = at_[stream == Stream::kStdout ? 0 : 1];
    at = offset + bytes.size();
    sent_ += bytes.size();
    Bytes out;
    for (std::size_t done = 0; done < bytes.size(); done += kPiece) {
      out += event(name_of(stream), {{"offset", offset + done},
                                     {"data", codec::base64(bytes.substr(done, kPiece))}});
    }
    if (sent_ >= kUnacknowledged) {
      over_ = true;
      out += event("ack_required", {{"stdout_offset", at_[0]}, {"stderr_offset", at_[1]}});
    }
    return out;
  }

  Bytes tell(const Command& command) {
    over_ = true;
    Bytes out;
    for (const auto stream : {Stream::kStdout, Stream::kStderr}) {
      out += event("stream_end", {{"stream", name_of(stream)},
                                  {"offset", at_[stream == Stream::kStdout ? 0 : 1]}});
    }
    const EndWords end = end_words(command);
    return out + (end.error_type.empty() ? event("exit", {{"exit_code", end.exit_code}})
                                         : refusal(end.error_type, end.message));
  }

  StreamSettings settings_;
  Command command_;
  std::array<std::uint64_t, 2> at_;  // the next byte of each stream
  std::uint64_t sent_ = 0;
  bool greeted_ = false;
  bool over_ = false;
  std::shared_ptr<Source> source_;
  Scope children_;
};

Task<void> stream(core::Cay& cay, core::Reader reader, core::OutputOffsets from,
                  StreamSettings settings, ExchangePtr exchange) {
  http::Headers headers;
  headers.add("Content-Type", "text/event-stream");
  headers.add("Cache-Control", "no-store");
  headers.add("X-Accel-Buffering", "no");  // nginx else holds events back
  auto executor = co_await asio::this_coro::executor;
  auto events = std::make_unique<CommandEvents>(cay, std::move(reader), from, settings, executor);
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(events));
  co_return Result<void>();
}

}  // namespace

Task<void> start_stream(core::Cay& cay, StreamSettings settings, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxCommandRequest));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  CAY_CO_TRY(CommandSpec spec, read_execute(in, Transport::kStream));
  CAY_CO_TRY(const Sandbox box,
             co_await cay.sandboxes().get(exchange->principal(), exchange->params().at("name")));
  const std::string ref = box.id.get();  // a name may be another sandbox's while it runs
  CAY_CO_TRY(auto reader, co_await cay.commands().run(exchange->principal(), ref, std::move(spec)));
  exchange->note_subject("command " + reader->command().id.get());
  CAY_CO_CHECK(check_transport(reader->command(), Transport::kStream));
  auto done = co_await stream(cay, std::move(reader), {}, settings, std::move(exchange));
  co_return done;
}

Task<void> resume_stream(core::Cay& cay, StreamSettings settings, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxCommandRequest));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  codec::Fields fields(in);
  std::string id;
  std::int64_t out = 0, err = 0;
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  if (!fields.read("command_id", id)) fields.complain("command_id", "is needed");
  fields.read("stdout_offset", out, 0, kMost);
  fields.read("stderr_offset", err, 0, kMost);
  CAY_CO_CHECK(fields.first_error());
  CAY_CO_TRY(const Sandbox box,
             co_await cay.sandboxes().get(exchange->principal(), exchange->params().at("name")));
  const std::string ref = box.id.get();
  const core::OutputOffsets from{static_cast<std::uint64_t>(out), static_cast<std::uint64_t>(err)};
  CAY_CO_TRY(auto reader,
             co_await cay.commands().attach(exchange->principal(), ref, CommandId(id), from));
  CAY_CO_CHECK(check_transport(reader->command(), Transport::kStream));
  auto done = co_await stream(cay, std::move(reader), from, settings, std::move(exchange));
  co_return done;
}

http::Response stream_error(const Error& error, const std::string& error_id) {
  if (error.reason == kTransportMismatch)
    return envelope(409, "TransportMismatch", error.message, error_id);
  if (error.code == Code::kNotFound && error.reason != "sandbox_not_found")
    return envelope(404, "CommandNotFound", error.message, error_id);
  if (error.code == Code::kOutOfRange)
    return envelope(416, "ReadOffsetUnavailable", error.message, error_id);
  return data_error("CommandError")(error, error_id);
}

}  // namespace cay::api::langsmith
