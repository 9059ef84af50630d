#include "client/waited_start.h"

#include <utility>

#include "client/command_events.h"
#include "client/command_stream.h"
#include "client/json_read.h"
#include "client/retry.h"

namespace cay::client {
namespace {

constexpr double kLeastKept = 60;  // seconds of ttl_s and idle_timeout_s that outlast the attach

bool may_have_begun(const Error& error) {
  return error.reason == "connection_lost" || error.reason == "shutting_down";
}

void add_output(std::deque<sdk::Event>& to, const json::object& from, sdk::Stream stream,
                const std::string& name) {
  sdk::Output output;
  output.stream = stream;
  output.bytes = bytes_in(from, name);
  if (!output.bytes.empty()) to.emplace_back(std::move(output));
}

Result<WaitedStart> waited_start_from(const json::object& answer) {
  WaitedStart out;
  const auto* command = answer.if_contains("command");
  if (command == nullptr || !command->is_object()) {
    out.command = command_from(answer);
    if (out.command.id.empty()) return protocol_error("no command");
    return out;
  }
  out.command = command_from(command->get_object());
  out.ended = !bool_in(answer, "truncated");
  if (!out.ended) return out;
  add_output(out.events, answer, sdk::Stream::kStdout, "stdout");
  add_output(out.events, answer, sdk::Stream::kStderr, "stderr");
  out.events.emplace_back(sdk::End{out.command});
  return out;
}

}  // namespace

Task<WaitedStart> start_and_wait(Connection& connection, std::string at, json::object spec,
                                 double wait_s) {
  spec["wait_s"] = wait_s;
  const std::string body = codec::write(spec);
  const std::string target = sandbox_target(at, "/commands");
  Retry retry(connection.executor(), connection.options().reconnect_for_s);
  bool begun = false;
  while (true) {
    auto answer = co_await connection.call_json("POST", target, body);
    if (answer) co_return waited_start_from(*answer);
    begun = begun || may_have_begun(answer.error());
    if (!begun || !worth_a_retry(answer.error())) co_return std::move(answer).error();
    auto again = co_await retry.pause();
    if (!again) {
      Error why = std::move(answer).error();
      why.message += "; " + may_still_run(at, string_in(spec, "id"));
      co_return why;
    }
  }
}

bool needs_a_stream(const Error& error) {
  return error.reason == "output_not_held" || error.reason == "too_many_answers";
}

double wait_of(const sdk::CommandOptions& options, double usual) {
  const auto outlasts = [](const std::optional<double>& seconds) {
    return !seconds || *seconds < 0 || *seconds >= kLeastKept;
  };
  if (options.kill_on_disconnect || !outlasts(options.ttl_s) || !outlasts(options.idle_timeout_s))
    return 0;
  return options.wait_s.value_or(usual);
}

}  // namespace cay::client
