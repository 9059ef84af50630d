#include "api/langsmith/execute.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/common/answer_size.h"
#include "api/common/collect.h"
#include "api/common/command_session.h"
#include "api/common/request_body.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/frames.h"
#include "api/langsmith/text_output.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"
#include "core/verbs/sandboxes.h"
#include "model/command_limits.h"

namespace cay::api::langsmith {
namespace {

constexpr std::uint64_t kUsualOutput = 2 << 20;  // of a command whose output nobody knows yet
constexpr int kNormal = 1000;
constexpr int kGoingAway = 1001;

// Counts how often in succession a run was closed so that its client repeats it. A client does so
// five times (section 4.7) and shows its user no reason for a bare close. So the last of them gets
// the reason.
class Refusals {
 public:
  // False: it was closed often enough.
  bool ask_again(const std::string& run) {
    if (counts_.size() >= kMostRuns)
      counts_.clear();  // some of them get no reason, and that is all
    if (++counts_[run] <= kRepeats) return true;
    counts_.erase(run);
    return false;
  }
  void forget(const std::string& run) { counts_.erase(run); }

 private:
  static constexpr int kRepeats = 5;
  static constexpr std::size_t kMostRuns = 1024;
  std::map<std::string, int> counts_;
};

// The state that the sessions of one route share.
struct Shared {
  OffsetIndex& offsets;
  std::shared_ptr<InputRoom> room;
  Refusals refusals;
};

class ExecuteSession final : public CommandSession {
 public:
  ExecuteSession(core::Cay& cay, Principal who, SandboxId sandbox,
                 std::unique_ptr<http::WebSocket> socket, asio::any_io_executor executor,
                 Shared& shared)
      : CommandSession(cay, std::move(who), std::move(sandbox), std::move(socket), shared.room,
                       executor),
        offsets_(shared.offsets),
        refusals_(shared.refusals) {
    socket_->at_daemons_end(kNormal);  // as for what failed() closes
  }

 protected:
  Task<core::Reader> open(http::WsMessage first) override {
    CAY_CO_TRY(const auto frame, codec::parse_object(first.data));
    codec::Fields fields(frame);
    std::string type;
    fields.read("type", type);
    if (type == "reconnect") {
      reconnecting_ = true;
      socket_->at_daemons_end(kGoingAway);
      auto reader = co_await reattach(fields);
      co_return reader;
    }
    if (type != "execute")
      co_return invalid("bad_frame",
                        "the first frame is 'execute' or 'reconnect', not '" + type + "'");
    CAY_CO_TRY(CommandSpec spec, read_execute(frame, Transport::kWebSocket));
    if (!spec.id.get().empty()) {
      run_ = ref_ + "/" + spec.id.get();
    } else {
      socket_->at_daemons_end(kGoingAway);  // it may run from now on
    }
    CAY_CO_TRY(auto reader, co_await cay_.commands().run(who_, ref_, std::move(spec)));
    CAY_CO_CHECK(check_transport(reader->command(), Transport::kWebSocket));
    co_return reader;
  }

  Task<void> started(Command command) override {
    key_ = ref_ + "/" + command.id.get();
    refusals_.forget(key_);
    run_.clear();
    // A new process under an id that was used before has output of its own.
    if (!reconnecting_ && !command.known) offsets_.began(key_);
    pty_ = command.pty;
    auto sent = co_await socket_->send_text(started_frame(command));
    // Not before it is sent: until then the client repeats the same run after 1000 alone.
    socket_->at_daemons_end(kGoingAway);
    co_return sent;
  }

  Task<void> output(core::OutputEvent event) override {
    if (auto* data = std::get_if<core::OutputData>(&event)) {
      CAY_CO_TRY(auto pieces, text_.take(*data));
      const TextStream& stream = text_.of(data->stream);
      if (stream.at_mark()) offsets_.add(key_, data->stream, stream.mark());
      auto sent = co_await send(data->stream, std::move(pieces));
      co_return sent;
    }
    if (const auto* gap = std::get_if<core::OutputGap>(&event)) {
      // In words, in the text: an error frame would take the command's own end from its caller.
      CAY_CO_TRY(auto pieces, text_.take(*gap));
      auto sent = co_await send(gap->stream, std::move(pieces));
      co_return sent;
    }
    auto& end = std::get<core::OutputEnd>(event);
    for (const auto which : {Stream::kStdout, Stream::kStderr}) {
      auto pieces = text_.finish(which);
      CAY_CO_CHECK(co_await send(which, std::move(pieces)));
    }
    auto sent = co_await socket_->send_text(end_frame(end.command));
    co_return sent;
  }

  Task<void> failed(Error error) override {
    const auto error_id = note_error(error);
    // An error frame ends the run. After a close with 1000 before `started` the client repeats it,
    // and under its id nothing runs twice (section 4.7).
    if (!run_.empty() && may_go_again(error) && refusals_.ask_again(run_)) {
      co_await socket_->close(kNormal, error.reason);
      co_return Result<void>();
    }
    auto sent = co_await socket_->send_text(
        error_frame(type_of(error), error.message + " (error_id=" + error_id + ")"));
    co_return sent;
  }

  Task<void> message(http::WsMessage message) override {
    auto frame = codec::parse_object(message.data);
    if (!frame) co_return Result<void>();  // nobody waits for an answer; the command goes on
    codec::Fields fields(*frame);
    std::string type;
    fields.read("type", type);
    if (type == "input") {
      std::string data;
      fields.read("data", data, kMaxCommandRequest);
      co_await feed(std::move(data));
    } else if (type == "close_stdin") {
      if (pty_) co_return Result<void>();  // a terminal has no half-close
      feed_end();
    } else if (type == "kill") {
      auto killed = co_await kill(0);
      static_cast<void>(killed);  // one that has ended is as killed as it gets
    } else if (type == "resize") {
      std::int64_t rows = 0, cols = 0;
      if (fields.read("rows", rows, 1, 65535) && fields.read("cols", cols, 1, 65535)) {
        const PtySize size{static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(cols)};
        auto resized = co_await resize(size);
        static_cast<void>(resized);
      }
    }
    co_return Result<void>();
  }

  // Input for a command that has ended or closed its stdin goes nowhere, as into a closed pipe.
  Task<void> stdin_refused(Error) override { co_return Result<void>(); }

 private:
  Task<core::Reader> reattach(codec::Fields& fields) {
    std::string id;
    std::int64_t out = 0, err = 0;
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    if (!fields.read("command_id", id))
      co_return invalid("bad_frame", "reconnect needs a command_id");
    fields.read("stdout_offset", out, 0, kMost);
    fields.read("stderr_offset", err, 0, kMost);
    CAY_CO_CHECK(fields.first_error());
    const std::string key = ref_ + "/" + id;
    run_ = key;
    const auto out_mark = offsets_.find(key, Stream::kStdout, static_cast<std::uint64_t>(out));
    const auto err_mark = offsets_.find(key, Stream::kStderr, static_cast<std::uint64_t>(err));
    text_ = TextOutput(TextStream(out_mark, static_cast<std::uint64_t>(out)),
                       TextStream(err_mark, static_cast<std::uint64_t>(err)));
    const core::OutputOffsets from{out_mark.raw, err_mark.raw};
    CAY_CO_TRY(auto reader, co_await cay_.commands().attach(who_, ref_, CommandId(id), from));
    CAY_CO_CHECK(check_transport(reader->command(), Transport::kWebSocket));
    co_return reader;
  }

  Task<void> send(Stream stream, std::vector<TextPiece> pieces) {
    for (const auto& piece : pieces) {
      auto sent = co_await socket_->send_text(output_frame(stream, piece));
      if (!sent) co_return sent;
    }
    co_return Result<void>();
  }

  std::string_view type_of(const Error& error) const {
    if (error.code == Code::kNotFound && reconnecting_) return "CommandNotFound";
    if (error.reason == kTransportMismatch) return "TransportMismatch";
    if (not_now(error)) return "NotReady";
    return "CommandError";
  }

  OffsetIndex& offsets_;
  Refusals& refusals_;
  std::string key_;
  std::string run_;  // the same until it has begun; empty: the client gave no id, so a repeat could
                     // run twice
  bool reconnecting_ = false;
  bool pty_ = false;
  TextOutput text_;
};

// The id is what counts from here on: the name may be another sandbox's while a session lasts.
Task<Sandbox> woken(core::Cay& cay, Principal who, std::string ref) {
  CAY_CO_TRY(Sandbox box, co_await cay.sandboxes().get(who, std::move(ref)));
  CAY_CO_CHECK(co_await cay.commands().wake(std::move(who), box.id.get()));
  co_return box;
}

asio::awaitable<void> serve_ws(core::Cay& cay, std::shared_ptr<Shared> shared,
                               ExchangePtr exchange) {
  const Principal who = exchange->principal();
  const std::string ref = exchange->params().at("name");
  if (!exchange->head().wants_websocket) {
    auto response =
        envelope(400, "InvalidRequest",
                 "this is a WebSocket endpoint: connect with Upgrade: websocket", new_uuid());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  // Before the upgrade: a refusal now is one that every client understands and repeats
  // (section 4.7).
  auto box = co_await woken(cay, who, ref);
  if (!box) {
    const auto error_id = note_error(box.error());
    const bool gone = box.error().code == Code::kNotFound;
    auto response =
        gone ? control_error(box.error(), error_id) : not_ready_upgrade(box.error(), error_id);
    co_await exchange->respond(std::move(response));
    co_return;
  }
  auto socket = co_await exchange->upgrade(kMaxCommandRequest);
  if (!socket) co_return;
  auto executor = co_await asio::this_coro::executor;
  ExecuteSession session(cay, who, box->id, *std::move(socket), executor, *shared);
  session.on_command = [exchange](const CommandId& id) {
    exchange->note_subject("command " + id.get());
  };
  co_await session.run();
}

// A command's whole output for one answer, as a client of the WebSocket would put it together.
struct Posted {
  CommandEnd end;
  std::string out, err;
  bool too_large = false;  // no answer holds so much: `out` and `err` are empty
  bool no_room = false;    // nor is there room for it now: the same
};

void append(Posted& to, core::AnswerRoom::Part& part, Stream stream,
            const std::vector<TextPiece>& pieces) {
  if (to.too_large || to.no_room) return;
  for (const auto& piece : pieces) (stream == Stream::kStdout ? to.out : to.err) += piece.text;
  const std::uint64_t all = to.out.size() + to.err.size();
  to.too_large = all > kMostAnswer;
  to.no_room = !to.too_large && !part.need(all);
  if (!to.too_large && !to.no_room) return;
  part.hold(0);
  std::string().swap(to.out);
  std::string().swap(to.err);
}

Task<Posted> read_to_end(core::Reader reader, AnswerPart part) {
  Posted got;
  TextOutput text;
  for (;;) {
    CAY_CO_TRY(const auto event, co_await reader->next());
    if (const auto* data = std::get_if<core::OutputData>(&event)) {
      CAY_CO_TRY(const auto pieces, text.take(*data));
      append(got, *part, data->stream, pieces);
    } else if (const auto* gap = std::get_if<core::OutputGap>(&event)) {
      CAY_CO_TRY(const auto pieces, text.take(*gap));
      append(got, *part, gap->stream, pieces);
    } else {
      got.end = std::get<core::OutputEnd>(event).command.end;
      break;
    }
  }
  for (const auto which : {Stream::kStdout, Stream::kStderr})
    append(got, *part, which, text.finish(which));
  const std::uint64_t needs = text_size(got.out) + text_size(got.err);
  got.too_large = got.too_large || needs > kMostAnswer;
  got.no_room = got.no_room || (!got.too_large && !part->need(needs));
  co_return got;
}

}  // namespace

http::Handler execute_ws(core::Cay& cay, OffsetIndex& offsets, std::shared_ptr<InputRoom> room) {
  auto shared = std::make_shared<Shared>(offsets, std::move(room));
  return [&cay, shared = std::move(shared)](ExchangePtr exchange) {
    return serve_ws(cay, shared, std::move(exchange));
  };
}

Task<http::Response> execute(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxCommandRequest));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  CAY_CO_TRY(CommandSpec spec, read_execute(in, Transport::kHttp));
  const auto part = cay.answers().begin(exchange->principal().tenant);
  CAY_CO_CHECK(part->check(kUsualOutput));
  CAY_CO_TRY(auto reader,
             co_await cay.commands().run(exchange->principal(), exchange->params().at("name"),
                                         std::move(spec)));
  exchange->note_subject(
      "command " +
      reader->command().id.get());  // whoever leaves before its end has run it all the same
  CAY_CO_TRY(const Posted got, co_await read_to_end(std::move(reader), part));
  const CommandEnd& end = got.end;
  if (end.state == CommandState::kTimedOut) {
    co_return Error{Code::kDeadlineExceeded, "command_timeout",
                    "the command was killed after its timeout", 0};
  }
  if (end.state == CommandState::kLost || end.state == CommandState::kRunning) {
    co_return Error{Code::kLost, "command_lost",
                    "Cay lost this command (not its own failure): " + end.reason, 0};
  }
  if (got.too_large) {
    co_return Error{Code::kInvalidArgument, "output_too_large",
                    "the command ran to its end, with exit code " +
                        std::to_string(shell_exit_code(end)) +
                        ", but its output is more than the 64 MiB of JSON that one answer holds: "
                        "run it over a WebSocket "
                        "(dp/.../execute/ws) or as events (dp/.../execute/stream/start)",
                    0};
  }
  if (got.no_room) {
    co_return output_not_held(
        "the command ran to its end, with exit code " + std::to_string(shell_exit_code(end)),
        "run it over a WebSocket (dp/.../execute/ws) or as events (dp/.../execute/stream/start)");
  }
  auto response = json_answer(200, codec::json::object{{"stdout", codec::text(got.out)},
                                                       {"stderr", codec::text(got.err)},
                                                       {"exit_code", shell_exit_code(end)}});
  response.holds = part;
  co_return response;
}

}  // namespace cay::api::langsmith
