// Programs given as text. Python runs below a hook that reads matplotlib's figures, JavaScript by
// node, and TypeScript by core's own way to run code.
#include <utility>

#include "api/daytona/toolbox/charts.h"
#include "api/daytona/toolbox/ends.h"
#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/execute.h"
#include "api/daytona/toolbox/run.h"
#include "async/bytes.h"
#include "code/module_syntax.h"
#include "code/request.h"
#include "code/result.h"
#include "core/ports/runtime.h"
#include "core/verbs/code.h"
#include "core/verbs/files.h"
#include "model/command_limits.h"

namespace cay::api::daytona {
namespace {

constexpr std::int64_t kMostSeconds = 86'400;
constexpr std::int64_t kOneSecond = 1000;
constexpr std::size_t kMostCodeArguments = 1000;
constexpr std::uint64_t kRoomForResult = 1 << 20;
constexpr std::uint64_t kMostOfTypescript = 16 << 20;
constexpr std::uint32_t kOwnersOnly = 0600;

// Runs "$@" with stderr in stdout.
constexpr const char* kMerged = "exec 2>&1; exec \"$@\"";

struct CodeRequest {
  std::string code;
  std::string language;
  std::vector<std::string> args;
  std::map<std::string, std::string> envs;
  std::int64_t timeout_ms = 0;
};

// How it ended, and what it printed.
struct CodeResult {
  int exit_code = 0;
  std::string output;
};

Result<CodeRequest> code_request_of(const codec::json::object& body) {
  codec::Fields fields(body);
  CodeRequest out;
  if (!fields.read("code", out.code, code::kMaxCode) || out.code.empty())
    fields.complain("code", "is required");
  if (!fields.read("language", out.language)) fields.complain("language", "is required");
  fields.read("argv", out.args, kMostCodeArguments);
  read_envs(fields, out.envs);
  std::int64_t seconds = 0;
  fields.read("timeout", seconds, 0, kMostSeconds);
  out.timeout_ms = seconds * kOneSecond;
  CAY_CHECK(checked_body(fields));
  return out;
}

Program merged(std::vector<std::string> argv, CodeRequest& request) {
  Program out{.argv = {"/bin/sh", "-c", kMerged, "sh"}};
  for (std::string& one : argv) out.argv.push_back(std::move(one));
  for (std::string& one : request.args) out.argv.push_back(std::move(one));
  out.env = std::move(request.envs);
  out.timeout_ms = request.timeout_ms;
  return out;
}

Task<CodeResult> run_merged(core::Cay& cay, Box box, Program program, AnswerPart part) {
  CAY_CO_TRY(RanProgram ran, co_await run_program(cay, std::move(box), std::move(program), part));
  co_return CodeResult{ran.exit_code, std::move(ran.out)};
}

Task<CodeResult> run_python(core::Cay& cay, Box box, CodeRequest request, AnswerPart part) {
  const std::string file = "/tmp/.code-" + new_uuid() + ".py";
  core::WriteOptions options;
  options.as = box.as();
  options.mode = kOwnersOnly;
  CAY_CO_TRY(const FileInfo written,
             co_await cay.files().write(box.who, box.ref, file, std::move(options),
                                        source_of(std::move(request.code))));
  static_cast<void>(written);
  Program program = merged({"python3", "-u", "-c", std::string(kPythonRunner), file}, request);
  auto ran = co_await run_merged(cay, box, std::move(program), part);
  // It is gone unless the program never began.
  if (!ran || ran->exit_code != 0) {
    const auto removed = co_await cay.files().remove(box.who, box.ref, file, box.as(), false);
    static_cast<void>(removed);
  }
  co_return ran;
}

Task<CodeResult> run_javascript(core::Cay& cay, Box box, CodeRequest request, AnswerPart part) {
  std::vector<std::string> argv{"node"};
  if (code::is_module(request.code)) argv.emplace_back("--input-type=module");
  argv.emplace_back("-");  // the program is on stdin, so that modules are found from here
  std::string code = std::move(request.code);
  Program program = merged(std::move(argv), request);
  program.input = std::move(code);
  auto ran = co_await run_merged(cay, std::move(box), std::move(program), std::move(part));
  co_return ran;
}

Task<CodeResult> run_typescript(core::Cay& cay, Box box, CodeRequest request, AnswerPart part) {
  CAY_CO_CHECK(part->check(kMostOfTypescript));
  code::RunRequest asked{
      .language = "typescript", .code = std::move(request.code), .args = std::move(request.args)};
  asked.run.env = std::move(request.envs);
  asked.run.workdir = box.workdir;
  asked.timeout_ms = request.timeout_ms > 0 ? request.timeout_ms : code::kLongestRun;
  asked.max_output_bytes = kMostOfTypescript / 2;
  CAY_CO_TRY(code::RunResult ran, co_await cay.code().run(box.who, box.ref, std::move(asked)));
  CAY_CO_TRY(const int exit_code, exit_code_of(ran.command.end));
  if (ran.output.out_gap || ran.output.err_gap)
    co_return vendor_error(kUnprocessable, "the program printed more than 8 MiB");
  co_return CodeResult{exit_code, ran.output.out + ran.output.err};
}

Task<CodeResult> run_in_language(core::Cay& cay, Box box, CodeRequest request, AnswerPart part) {
  const std::string language = request.language;
  if (language == "python") {
    auto ran = co_await run_python(cay, std::move(box), std::move(request), std::move(part));
    co_return ran;
  }
  if (language == "javascript") {
    auto ran = co_await run_javascript(cay, std::move(box), std::move(request), std::move(part));
    co_return ran;
  }
  if (language == "typescript") {
    auto ran = co_await run_typescript(cay, std::move(box), std::move(request), std::move(part));
    co_return ran;
  }
  co_return vendor_error(kBadRequest, "bad request: unsupported language: " + language);
}

}  // namespace

Task<http::Response> code_run(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange, kJsonGrowth * code::kMaxCode));
  CAY_CO_TRY(CodeRequest request, code_request_of(body));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  exchange->note_subject("code: " + request.language.substr(0, 20) + ", " +
                         std::to_string(request.code.size()) + " bytes");
  const auto part = cay.answers().begin(box.who.tenant);
  CAY_CO_CHECK(part->check(kRoomForResult));
  CAY_CO_TRY(CodeResult ran, co_await run_in_language(cay, box, std::move(request), part));
  codec::json::array charts = take_charts(ran.output);
  auto response = json_answer(
      200, codec::json::object{{"exitCode", ran.exit_code},
                               {"result", codec::text(ran.output)},
                               {"artifacts", codec::json::object{{"charts", std::move(charts)}}}});
  response.holds = part;
  co_return response;
}

}  // namespace cay::api::daytona
