// Commands of a session: start, input, logs.
#include <chrono>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/run.h"
#include "api/daytona/toolbox/session_log.h"
#include "api/daytona/toolbox/session_record.h"
#include "api/daytona/toolbox/sessions.h"
#include "api/daytona/toolbox/sockets.h"
#include "model/command_limits.h"

namespace cay::api::daytona {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kRoomForLogs = 1 << 20;
constexpr std::size_t kMostFollowMessage = 1 << 16;
constexpr core::Contexts::Wait kFollowPatience{15'000};
constexpr int kNormalEnd = 1000;
constexpr int kInternalEnd = 1011;

struct ExecRequest {
  std::string command;
  bool async = false;
  bool silent_input = false;
};

Result<ExecRequest> exec_request_of(const codec::json::object& body) {
  codec::Fields fields(body);
  ExecRequest out;
  if (!fields.read("command", out.command, kMostCode) || out.command.empty())
    fields.complain("command", "is required");
  bool old_name = false;
  fields.read("runAsync", out.async);
  fields.read("async", old_name);
  fields.read("suppressInputEcho", out.silent_input);
  out.async = out.async || old_name;
  CAY_CHECK(checked_body(fields));
  return out;
}

// The code of the shell that runs a command whose input comes later. A reader that is open for
// writing, too, never sees the end of it.
std::string with_input(const std::string& session, const std::string& command, bool silent) {
  const std::string pipe = input_pipe(session, command);
  std::string out = "command mkfifo -m 600 " + pipe + "\n";
  if (silent) out += ": >" + pipe + ".silent\n";
  return out + "builtin . " + command_file(session, command) + " 0<>" + pipe + "\n";
}

Error session_over() { return vendor_error(kSessionEnded, "session process has exited"); }

codec::json::value text_or_null(const std::optional<std::string>& text) {
  return text ? codec::json::value(codec::text(*text)) : codec::json::value(nullptr);
}

std::string without_marks(const SessionLog& log) { return log.out + log.err; }

// The output so far, in the form that the client reads.
http::Response logs_answer(const SessionLog& log, LogForm form) {
  if (form == LogForm::kJson) {
    return json_answer(200, codec::json::object{{"output", codec::text(log.output)},
                                                {"stdout", codec::text(log.out)},
                                                {"stderr", codec::text(log.err)}});
  }
  http::Response response;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = form == LogForm::kMarks ? log.output : without_marks(log);
  return response;
}

Task<void> send_pieces(http::WebSocket& socket, const SessionReader::Pieces& got, LogForm form,
                       MuxWriter& mux) {
  for (const auto& piece : got.pieces) {
    if (piece.text.empty()) continue;
    Bytes frame = form == LogForm::kPlain ? piece.text : mux.add(piece.stream, piece.text);
    CAY_CO_CHECK(co_await socket.send_binary(std::move(frame)));
  }
  co_return Result<void>();
}

// Sends the pieces as they come, until the command's end, and what its jobs wrote by then.
Task<void> follow(http::WebSocket& socket, SessionReader& reader, LogForm form) {
  MuxWriter mux;
  for (;;) {
    CAY_CO_TRY(const auto got, co_await reader.next(kFollowPatience));
    CAY_CO_CHECK(co_await send_pieces(socket, got, form, mux));
    if (got.over) break;
  }
  CAY_CO_TRY(const auto code, reader.exit_code());
  static_cast<void>(code);
  for (bool more = true; more;) {
    CAY_CO_TRY(const auto got, co_await reader.next_of_jobs());
    CAY_CO_CHECK(co_await send_pieces(socket, got, form, mux));
    more = !got.over;
  }
  co_return Result<void>();
}

asio::awaitable<void> follow_and_close(std::shared_ptr<http::WebSocket> socket,
                                       std::shared_ptr<SessionReader> reader, LogForm form) {
  auto done = co_await follow(*socket, *reader, form);
  if (!done) note_error(done.error());
  co_await socket->close(done ? kNormalEnd : kInternalEnd, done ? "" : done.error().message);
}

}  // namespace

Task<http::Response> session_exec(core::Cay& cay, ExchangePtr exchange) {
  const std::string session = exchange->params().at("session");
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange, kMaxCommandRequest));
  CAY_CO_TRY(const ExecRequest request, exec_request_of(body));
  if (session == kEntrypoint)
    co_return vendor_error(kBadRequest, "cannot execute commands in the entrypoint session");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Context context, co_await find_session(cay, box, session));
  if (context.command.end.state != CommandState::kRunning) co_return session_over();
  const auto part = cay.answers().begin(box.who.tenant);
  CAY_CO_CHECK(part->check(kRoomForLogs));
  const std::string id = new_uuid();
  exchange->note_subject("command " + id);
  CAY_CO_CHECK(co_await write_command(cay, box, session, id, request.command));
  EvaluationSpec spec{
      .id = id,
      .code = request.async ? with_input(session, id, request.silent_input) : request.command};
  auto begun = co_await cay.contexts().evaluate(box.who, box.ref, context.id, std::move(spec),
                                                core::Contexts::Wait(0));
  if (!begun) {
    const auto forgotten = co_await forget_command(cay, box, session, id);
    static_cast<void>(forgotten);
    if (begun.error().reason == "context_gone") co_return session_over();
    co_return std::move(begun).error();
  }
  codec::json::object out{{"cmdId", id},
                          {"output", nullptr},
                          {"stdout", nullptr},
                          {"stderr", nullptr},
                          {"exitCode", nullptr}};
  if (request.async) co_return json_answer(202, out);
  SessionReader reader(cay, box, session, id);
  CAY_CO_TRY(const SessionLog log, co_await read_session_log(reader, part, LogPart::kToEndAlone));
  CAY_CO_TRY(const auto exit_code, reader.exit_code());
  const LogForm form = log_form_of(exchange->head());
  out["output"] = codec::text(form == LogForm::kPlain ? without_marks(log) : log.output);
  if (form == LogForm::kJson) {
    out["stdout"] = text_or_null(log.out);
    out["stderr"] = text_or_null(log.err);
  }
  if (exit_code) out["exitCode"] = *exit_code;
  auto response = json_answer(200, out);
  response.holds = part;
  co_return response;
}

Task<void> session_logs(core::Cay& cay, ExchangePtr exchange) {
  const std::string session = exchange->params().at("session");
  const std::string command = exchange->params().at("command");
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Context context, co_await find_session(cay, box, session));
  static_cast<void>(context);
  CAY_CO_TRY(const std::string text, co_await read_command(cay, box, session, command));
  static_cast<void>(text);
  const LogForm form = log_form_of(exchange->head());
  const auto reader = std::make_shared<SessionReader>(cay, box, session, command);
  if (exchange->head().wants_websocket) {
    CAY_CO_TRY(const auto socket, co_await listener_socket(exchange, kMostFollowMessage));
    co_await while_open(socket, follow_and_close(socket, reader, form));
    co_return Result<void>();
  }
  const auto part = cay.answers().begin(box.who.tenant);
  CAY_CO_CHECK(part->check(kRoomForLogs));
  const LogPart until = query_flag(exchange, "follow") ? LogPart::kToEnd : LogPart::kSoFar;
  CAY_CO_TRY(const SessionLog log, co_await read_session_log(*reader, part, until));
  auto response = logs_answer(log, form);
  response.holds = part;
  co_await exchange->respond(std::move(response));
  co_return Result<void>();
}

Task<void> entrypoint_logs(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  static_cast<void>(box);
  if (exchange->head().wants_websocket) {
    CAY_CO_TRY(const auto socket, co_await listener_socket(exchange, kMostFollowMessage));
    co_await until_closed(socket);
    co_return Result<void>();
  }
  auto response = logs_answer(SessionLog{}, log_form_of(exchange->head()));
  co_await exchange->respond(std::move(response));
  co_return Result<void>();
}

Task<http::Response> session_input(core::Cay& cay, ExchangePtr exchange) {
  const std::string session = exchange->params().at("session");
  const std::string command = exchange->params().at("command");
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange, kMaxCommandRequest));
  codec::Fields fields(body);
  std::string data;
  if (!fields.read("data", data, kMaxCommandRequest)) fields.complain("data", "is required");
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const Context context, co_await find_session(cay, box, session));
  CAY_CO_TRY(const std::string text, co_await read_command(cay, box, session, command));
  static_cast<void>(text);
  CAY_CO_TRY(const auto ended, co_await end_of_command(cay, box, session, command));
  if (ended) co_return vendor_error(kCommandCompleted, "command has already completed");
  // The shell's output is the command's while it runs. The echo comes first, as on a terminal.
  constexpr const char* kFeed =
      "tries=0\n"
      "while [ ! -p \"$1\" ] && [ $tries -lt 20 ]; do sleep 0.05; tries=$((tries + 1)); done\n"
      "[ -p \"$1\" ] || exit 3\n"
      "text=$(cat && echo x) && text=${text%x}\n"
      "if [ ! -e \"$1.silent\" ]; then\n"
      "  read -r kid rest <\"/proc/$2/task/$2/children\"\n"
      "  [ -z \"$kid\" ] || printf %s \"$text\" >\"/proc/$kid/fd/1\"\n"
      "fi 2>/dev/null\n"
      "printf %s \"$text\" 1<>\"$1\"";
  Program program{.argv = {"/bin/sh", "-c", kFeed, "sh", input_pipe(session, command),
                           std::to_string(context.command.pid)}};
  if (!data.ends_with('\n')) data += '\n';
  program.input = std::move(data);
  const auto part = cay.answers().begin(box.who.tenant);
  CAY_CO_TRY(const RanProgram ran, co_await run_program(cay, box, std::move(program), part));
  constexpr int kNoPipe = 3;
  const int exit_code = ran.exit_code;
  if (exit_code == kNoPipe) {
    co_return vendor_error(kBadRequest,
                           "the command takes no input: it was not started with runAsync, or it "
                           "has not begun");
  }
  if (exit_code != 0) co_return vendor_error(kUnprocessable, "the input was not taken: " + ran.err);
  co_return empty_answer(204);
}

}  // namespace cay::api::daytona
