// The tool `run_code`: a program that is given as text.
#include "api/mcp/results.h"
#include "api/mcp/tool_limits.h"
#include "api/mcp/tools.h"
#include "code/code_json.h"
#include "core/answer_room.h"
#include "core/verbs/code.h"
#include "core/verbs/sandboxes.h"
#include "model/command.h"

namespace cay::api::mcp {
namespace {

Result<code::RunRequest> program_of(const Arguments& given) {
  json::object in{{"max_output_bytes", given.integer("max_output_bytes", kUsualOutput)}};
  for (const char* name :
       {"language", "code", "libraries", "args", "stdin", "env", "timeout_s", "cwd", "user"}) {
    if (given.has(name)) in[name] = given.value(name);
  }
  codec::Fields fields(in);
  code::RunRequest out;
  code::read_request(fields, out);
  CAY_CHECK(fields.first_error());
  CAY_CHECK(code::check(out));
  return out;
}

std::string text_of(const code::RunResult& got) {
  std::string text = got.output.out;
  const auto add = [&text](const std::string& more) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += more;
  };
  if (!got.output.err.empty()) add("[stderr]\n" + got.output.err);
  for (const std::string& note : got.notes) add("[" + note + "]");
  if (!got.ok()) {
    add("[" + std::string(to_string(got.phase)) + " " +
        std::string(to_string(got.command.end.state)) + ", exit code " +
        std::to_string(shell_exit_code(got.command.end)) + "]");
  }
  return text.empty() ? "[no output, exit code 0]" : text;
}

// Images are content that a model sees. All artifacts are named in the structured content, which
// does not repeat the bytes of images.
json::object result_of(const code::RunResult& got) {
  json::object facts = code::to_json(got);
  json::array images;
  auto& artifacts = facts.at("artifacts").as_array();
  for (std::size_t i = 0; i < got.artifacts.size(); ++i) {
    const code::Artifact& artifact = got.artifacts[i];
    if (!is_image(artifact.mime)) continue;
    json::value& bytes = artifacts[i].as_object().at("content_base64");
    images.emplace_back(
        json::object{{"type", "image"}, {"data", std::move(bytes)}, {"mimeType", artifact.mime}});
    artifacts[i].as_object().erase("content_base64");
  }
  const std::string text = text_of(got);
  json::object out =
      got.ok() ? text_result(text, std::move(facts)) : failed_result(text, std::move(facts));
  for (json::value& image : images) out.at("content").as_array().push_back(std::move(image));
  return out;
}

}  // namespace

Task<json::object> run_code(Call call) {
  auto request = program_of(call.arguments);
  if (!request) co_return std::move(request).error();
  const auto part = call.cay->answers().begin(call.who().tenant);
  CAY_CO_CHECK(part->check(2 * request->max_output_bytes + code::kMostArtifactsBytes));
  call.report("running the program");
  if (call.arguments.has("sandbox")) {
    auto got = co_await call.cay->code().run(call.who(), call.sandbox(), *std::move(request));
    if (!got) co_return std::move(got).error();
    co_return result_of(*got);
  }
  if (!allows(call.who().scope, Right::kManage)) {
    co_return invalid("invalid_field", "sandbox: is needed, because the key may create none");
  }
  auto got = co_await call.cay->code().run_once(call.who(), {}, {}, *std::move(request));
  if (!got) co_return std::move(got).error();
  co_return result_of(*got);
}

}  // namespace cay::api::mcp
