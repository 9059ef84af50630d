// The tool `run`: one command, from its start to its end.
#include "api/common/answer_size.h"
#include "api/common/collect.h"
#include "api/common/stdin_write.h"
#include "api/mcp/results.h"
#include "api/mcp/tool_limits.h"
#include "api/mcp/tools.h"
#include "codec/base64.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "codec/utf8.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::mcp {
namespace {

constexpr double kUsualTimeout = 600;  // seconds

// Reports the output as it passes.
class ReportingReader : public core::CommandReader {
 public:
  ReportingReader(core::Reader reader, std::shared_ptr<EventFeed> feed)
      : reader_(std::move(reader)), feed_(std::move(feed)) {}

  const Command& command() const override { return reader_->command(); }
  Task<core::OutputEvent> next() override {
    auto event = co_await reader_->next();
    if (event) {
      if (const auto* data = std::get_if<core::OutputData>(&*event)) report(*data);
    }
    co_return event;
  }

 private:
  void report(const core::OutputData& data) {
    std::string text;
    (data.stream == Stream::kStdout ? out_ : err_).feed(data.bytes, text);
    if (!text.empty()) feed_->report(text);
  }

  core::Reader reader_;
  std::shared_ptr<EventFeed> feed_;
  codec::Utf8Sanitiser out_, err_;
};

Result<codec::CommandRequest> request_of(const Arguments& given) {
  json::object in{{"command", given.value("command")},
                  {"timeout_s", given.number("timeout_s", kUsualTimeout)},
                  {"max_output_bytes", given.integer("max_output_bytes", kUsualOutput)}};
  for (const char* name : {"cwd", "env", "user"}) {
    if (given.has(name)) in[name] = given.value(name);
  }
  if (given.has("stdin")) in["stdin"] = codec::base64(given.text("stdin"));
  codec::Fields fields(in);
  codec::CommandRequest out;
  codec::read_command_request(fields, out);
  CAY_CHECK(fields.first_error());
  out.spec.kill_on_disconnect = true;  // nobody could read it any more
  return out;
}

// "exited with 3", "was ended after its time limit".
std::string end_of(const CommandEnd& end) {
  switch (end.state) {
    case CommandState::kRunning: return "is running";
    case CommandState::kExited: return "exited with " + std::to_string(end.exit_code);
    case CommandState::kSignalled: return "ended by signal " + std::to_string(end.signal);
    case CommandState::kTimedOut: return "was ended at its time limit";
    case CommandState::kIdleKilled: return "was ended because nobody read its output";
    case CommandState::kOomKilled: return "was ended because the sandbox's memory was used up";
    case CommandState::kKilled: return "was ended by " + end.by;
    case CommandState::kLost: return "was lost: " + end.reason;
  }
  return {};
}

json::object structured_of(const Collected& got, const std::string& sandbox) {
  const json::object command = codec::to_json(got.command);
  json::object out{{"sandbox", codec::text(sandbox)}, {"command_id", got.command.id.get()}};
  for (const char* name : {"state", "exit_code", "signal", "reason", "shell_exit_code"})
    out[name] = command.at(name);
  out["stdout"] = codec::text(got.out);
  out["stderr"] = codec::text(got.err);
  out["stdout_bytes"] = bytes_at_end(got.command.out);
  out["stderr_bytes"] = bytes_at_end(got.command.err);
  out["truncated"] = got.truncated;
  out["oom_kills"] = got.command.end.oom_kills;
  return out;
}

json::object result_of(const Collected& got, const std::string& sandbox) {
  std::string text = got.out;
  const auto add = [&text](const std::string& more) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += more;
  };
  if (!got.err.empty()) add("[stderr]\n" + got.err);
  const bool failed = shell_exit_code(got.command.end) != 0;
  if (failed) {
    add("[the command " + end_of(got.command.end) + "]");
    return failed_result(text, structured_of(got, sandbox));
  }
  if (text.empty()) text = "[no output, exit code 0]";
  return text_result(text, structured_of(got, sandbox));
}

Task<void> write_input(Call call, std::string sandbox, CommandId id, std::string input) {
  core::Cay& cay = *call.cay;
  const Principal who = call.who();
  auto written = co_await write_whole_stdin(cay, who, sandbox, id, std::move(input), true);
  if (written) {
    auto ended = co_await end_stdin(cay, who, sandbox, id);
    written = std::move(ended);
  }
  if (written) co_return Result<void>();
  Error error = of_one_that_began(std::move(written).error());
  // A command may end before it has read all. The result has its end.
  if (stdin_is_over(error)) co_return Result<void>();
  auto killed = co_await kill_for_lost_input(cay, who, sandbox, id, std::move(error));
  co_return std::move(killed).error();
}

}  // namespace

Task<json::object> run_command(Call call) {
  auto request = request_of(call.arguments);
  if (!request) co_return std::move(request).error();
  const auto part = call.cay->answers().begin(call.who().tenant);
  CAY_CO_CHECK(part->check(2 * request->max_output_bytes));
  // By its id from here on: the name may be another sandbox's while the command runs.
  auto box = co_await call.cay->sandboxes().get(call.who(), call.sandbox());
  if (!box) co_return std::move(box).error();
  const std::string sandbox = box->id.get();
  auto started = co_await call.cay->commands().run(call.who(), sandbox, std::move(request->spec));
  if (!started) co_return std::move(started).error();
  core::Reader reader = *std::move(started);
  const CommandId id = reader->command().id;
  call.exchange->note_subject("command " + id.get() + " of sandbox " + box->name);
  if (request->stdin_bytes) {
    CAY_CO_CHECK(co_await write_input(call, sandbox, id, *std::move(request->stdin_bytes)));
  }
  if (call.wants_progress())
    reader = std::make_unique<ReportingReader>(std::move(reader), call.feed);
  auto got = co_await collect(std::move(reader), request->max_output_bytes, part);
  if (!got) co_return std::move(got).error();
  if (got->too_large || got->no_room) {
    co_return output_not_held("command " + id.get() + " ran to its end",
                              "let it write to a file, and read that");
  }
  if (got->command.end.state == CommandState::kLost) {
    co_return Error{Code::kLost, "command_lost", "the command was lost: " + got->command.end.reason,
                    0};
  }
  co_return result_of(*got, call.sandbox());
}

}  // namespace cay::api::mcp
