#include "api/daytona/toolbox/execute.h"

#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/run.h"
#include "model/command_limits.h"

namespace cay::api::daytona {
namespace {

// The vendor's own sentence, which clients compare.
constexpr const char* kNoCommand =
    "invalid body request: invalid request body: Key: 'ExecuteRequest.Command' Error:Field "
    "validation for 'Command' failed on the 'required' tag";
constexpr std::int64_t kLongestTimeout = 86'400 * 365;
constexpr std::int64_t kMillisOfSecond = 1000;
constexpr std::uint64_t kRoomForOutput = 1 << 20;
constexpr int kNeverStarted = -1;  // the vendor's exit code of a shell that could not start

}  // namespace

Task<http::Response> execute_command(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange, kMaxCommandRequest));
  codec::Fields fields(body);
  std::string command, cwd;
  if (!fields.read("command", command, kMaxCommandRequest) || command.empty())
    co_return vendor_error(kInvalidBody, kNoCommand);
  fields.read("cwd", cwd);
  std::int64_t timeout = 0;
  fields.read("timeout", timeout, 0, kLongestTimeout);
  std::map<std::string, std::string> envs;
  read_envs(fields, envs);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  Program program = shell_program(std::move(command));
  program.env = std::move(envs);
  if (!cwd.empty()) program.cwd = box.absolute(cwd);
  program.timeout_ms = timeout * kMillisOfSecond;
  program.keeps_working = true;
  const auto part = cay.answers().begin(box.who.tenant);
  CAY_CO_CHECK(part->check(kRoomForOutput));
  auto ran = co_await run_program(cay, box, std::move(program), part);
  int exit_code = kNeverStarted;
  std::string result;
  if (ran) {
    exit_code = ran->exit_code;
    result = std::move(ran->out);
  } else if (ran.error().reason == "bad_cwd") {
    result = ran.error().message;
  } else {
    co_return std::move(ran).error();
  }
  auto response = json_answer(
      200, codec::json::object{{"exitCode", exit_code}, {"result", codec::text(result)}});
  response.holds = part;
  co_return response;
}

}  // namespace cay::api::daytona
