// Routes about commands, the WebSocket apart.
#include "api/common/stdin_write.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "api/native/run_command.h"
#include "codec/model_json.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"
#include "core/verbs/sandboxes.h"
#include "model/command_limits.h"

namespace cay::api::native {

using codec::json::object;

namespace {

CommandId id_param(http::Exchange& exchange) { return CommandId(param(exchange, "id")); }

Result<codec::CommandRequest> request_of(const object& body) {
  codec::CommandRequest out;
  codec::Fields fields(body);
  codec::read_command_request(fields, out);
  if (!out.wait && out.stdin_bytes)
    fields.complain("stdin", "goes with wait; without it, write to .../stdin");
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

// Reads one stream of a command as bytes, to its end or to the end at the time of the request. It
// passes over the gap that the head of the answer names. At any other gap it fails, which breaks
// the connection, so that no reader takes the body for whole.
class OutputSource : public ByteSource {
 public:
  OutputSource(core::Reader reader, Stream stream, std::uint64_t offset, const StreamExtent& told,
               std::optional<std::uint64_t> stop_at)
      : reader_(std::move(reader)), stream_(stream), at_(offset), told_(told), stop_at_(stop_at) {}

  Task<Bytes> next() override {
    while (!ended_ && !(stop_at_ && at_ >= *stop_at_)) {
      auto event = co_await reader_->next();
      if (!event) co_return std::move(event).error();
      if (std::holds_alternative<core::OutputEnd>(*event)) {
        ended_ = true;
      } else if (auto* gap = std::get_if<core::OutputGap>(&*event)) {
        if (gap->stream != stream_) continue;
        at_ = gap->offset + gap->length;
        if (gap->offset < told_.gap_begin || at_ > told_.gap_end) {
          co_return Error{
              Code::kLost, "output_dropped",
              "a full spool dropped output while it was read, after the answer's head was sent", 0};
        }
      } else if (auto* data = std::get_if<core::OutputData>(&*event);
                 data->stream == stream_ && !data->bytes.empty()) {
        at_ = data->offset + data->bytes.size();
        if (stop_at_ && at_ > *stop_at_)
          data->bytes.resize(data->bytes.size() - static_cast<std::size_t>(at_ - *stop_at_));
        co_return std::move(data->bytes);
      }
    }
    co_return Bytes();
  }

 private:
  core::Reader reader_;
  Stream stream_;
  std::uint64_t at_;
  StreamExtent told_;
  std::optional<std::uint64_t> stop_at_;
  bool ended_ = false;
};

}  // namespace

Task<http::Response> start_command(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kMaxCommandRequest);
  if (!body) co_return std::move(body).error();
  auto request = request_of(*body);
  if (!request) co_return std::move(request).error();
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  if (!request->wait) {
    auto command = co_await cay.commands().start(who, ref, std::move(request->spec));
    if (!command) co_return std::move(command).error();
    exchange->note_subject("command " + command->id.get());
    co_return json_answer(201, codec::to_json(*command));
  }
  const auto part = cay.answers().begin(who.tenant);
  const bool limited = request->wait_ms.has_value();
  auto got = co_await run_to_end(cay, exchange, ref, *std::move(request), part);
  if (!got) co_return std::move(got).error();
  if (got->runs_on) co_return json_answer(201, codec::to_json(got->command));
  auto result = result_json(*got, ref);
  // Its client may get either answer, so both have the command itself.
  if (limited) result["command"] = codec::to_json(got->command);
  auto response = json_answer(200, std::move(result));
  response.holds = part;
  co_return response;
}

Task<http::Response> get_command(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.commands().get(exchange->principal(), param(*exchange, "ref"),
                                         id_param(*exchange));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> forget_command(core::Cay& cay, ExchangePtr exchange) {
  auto gone = co_await cay.commands().forget(exchange->principal(), param(*exchange, "ref"),
                                             id_param(*exchange));
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

Task<http::Response> kill_command(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  const int signal = codec::read_signal(fields);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  auto sent = co_await cay.commands().kill(exchange->principal(), param(*exchange, "ref"),
                                           id_param(*exchange), signal);
  if (!sent) co_return std::move(sent).error();
  co_return empty_answer(204);
}

Task<http::Response> write_stdin(core::Cay& cay, ExchangePtr exchange) {
  const Principal who = exchange->principal();
  const CommandId id = id_param(*exchange);
  auto box = co_await cay.sandboxes().get(who, param(*exchange, "ref"));
  if (!box) co_return std::move(box).error();
  const std::string sandbox = box->id.get();
  auto source = exchange->body();
  for (;;) {
    auto bytes = co_await source->next();
    if (!bytes) co_return std::move(bytes).error();
    if (bytes->empty()) break;
    // Whether more comes nobody knows yet; a client whose request is cut hears of that.
    auto written = co_await write_whole_stdin(cay, who, sandbox, id, *std::move(bytes), false);
    if (!written) co_return std::move(written).error();
  }
  co_return empty_answer(204);
}

Task<http::Response> close_stdin(core::Cay& cay, ExchangePtr exchange) {
  auto closed = co_await cay.commands().close_stdin(exchange->principal(), param(*exchange, "ref"),
                                                    id_param(*exchange));
  if (!closed) co_return std::move(closed).error();
  co_return empty_answer(204);
}

Task<http::Response> resize_pty(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  const auto size = codec::read_pty_size(fields);
  fields.refuse_unknown();
  auto good = fields.first_error();
  if (!good) co_return std::move(good).error();
  auto resized = co_await cay.commands().resize(exchange->principal(), param(*exchange, "ref"),
                                                id_param(*exchange), *size);
  if (!resized) co_return std::move(resized).error();
  co_return empty_answer(204);
}

Task<void> read_output(core::Cay& cay, ExchangePtr exchange) {
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  const CommandId id = id_param(*exchange);
  const std::string name = query_or(*exchange, "stream", "stdout");
  if (name != "stdout" && name != "stderr")
    co_return invalid("invalid_query", "stream= must be stdout or stderr");
  auto offset = query_number(*exchange, "offset", 0, 0, UINT64_MAX / 2);
  if (!offset) co_return std::move(offset).error();
  auto follow = query_bool(*exchange, "follow", false);
  if (!follow) co_return std::move(follow).error();
  auto command = co_await cay.commands().get(who, ref, id);
  if (!command) co_return std::move(command).error();
  const bool is_out = name == "stdout";
  const std::uint64_t written = is_out ? command->out.bytes : command->err.bytes;
  if (*offset > written) {
    co_return Error{Code::kOutOfRange, "offset_past_end",
                    name + " has " + std::to_string(written) + " bytes: offset= is past them", 0};
  }
  core::OutputOffsets from;  // the other stream: from its end, so that it is not read for nothing
  from.out = is_out ? *offset : command->out.bytes;
  from.err = is_out ? command->err.bytes : *offset;
  auto reader = co_await cay.commands().attach(who, ref, id, from);
  if (!reader) co_return std::move(reader).error();
  const Command seen = (*reader)->command();  // as it was when the reading began
  const StreamExtent& extent = is_out ? seen.out : seen.err;
  http::Headers headers;
  headers.add("Content-Type", "application/octet-stream");
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("X-Cay-Stream", name);
  headers.add("X-Cay-Offset", std::to_string(*offset));
  headers.add("X-Cay-Bytes", std::to_string(extent.bytes));
  headers.add("X-Cay-State", std::string(to_string(seen.end.state)));
  if (extent.gap_end > extent.gap_begin) {
    headers.add("X-Cay-Gap",
                std::to_string(extent.gap_begin) + "-" + std::to_string(extent.gap_end));
  }
  std::optional<std::uint64_t> stop_at;
  if (!*follow) stop_at = extent.bytes;
  auto source = std::make_unique<OutputSource>(
      *std::move(reader), is_out ? Stream::kStdout : Stream::kStderr, *offset, extent, stop_at);
  co_await exchange->respond_stream(200, std::move(headers), std::nullopt, std::move(source));
  co_return Result<void>();
}

}  // namespace cay::api::native
