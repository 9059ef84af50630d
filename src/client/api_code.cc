#include "client/api.h"
#include "client/json_read.h"
#include "client/json_write.h"
#include "codec/base64.h"
#include "codec/utf8.h"

namespace cay::client {
namespace {

json::array list_of(const std::vector<std::string>& words) {
  json::array out;
  for (const std::string& word : words) out.emplace_back(word);
  return out;
}

json::object code_body(std::string code, const sdk::CodeOptions& options) {
  json::object out;
  out["language"] = options.language;
  out["code"] = std::move(code);
  if (!options.input.empty()) out["stdin_base64"] = codec::base64(options.input);
  if (!options.args.empty()) out["args"] = list_of(options.args);
  if (!options.libraries.empty()) out["libraries"] = list_of(options.libraries);
  if (!options.env.empty()) {
    json::object env;
    for (const auto& [name, value] : options.env) env[name] = value;
    out["env"] = std::move(env);
  }
  if (!options.cwd.empty()) out["cwd"] = options.cwd;
  if (!options.user.empty()) out["user"] = options.user;
  if (options.timeout_s) out["timeout_s"] = *options.timeout_s;
  if (options.max_output_bytes) out["max_output_bytes"] = *options.max_output_bytes;
  return out;
}

sdk::Artifact artifact_from(const json::object& from) {
  sdk::Artifact out;
  out.name = string_in(from, "name");
  out.mime = string_in(from, "mime");
  out.bytes = bytes_in(from, "content");
  return out;
}

sdk::CodeResult code_result_from(const json::object& from) {
  sdk::CodeResult out;
  out.language = string_in(from, "language");
  out.phase = string_in(from, "phase");
  out.ok = bool_in(from, "ok");
  out.command = command_from(from);
  out.command.id = string_in(from, "command_id");
  out.out = bytes_in(from, "stdout");
  out.err = bytes_in(from, "stderr");
  out.truncated = bool_in(from, "truncated");
  out.artifacts = list_from(from, "artifacts", &artifact_from);
  const auto* notes = from.if_contains("notes");
  if (notes != nullptr && notes->is_array()) {
    for (const auto& note : notes->get_array()) {
      if (note.is_string()) out.notes.emplace_back(note.get_string());
    }
  }
  out.sandbox = string_in(from, "sandbox");
  out.json = codec::write(from);
  return out;
}

Task<sdk::CodeResult> posted(Connection& at, std::string target, json::object body) {
  auto answer = co_await at.call_json("POST", std::move(target), codec::write(body));
  if (!answer) co_return std::move(answer).error();
  co_return code_result_from(*answer);
}

// JSON carries text alone.
Result<void> check_text(const std::string& code) {
  if (codec::is_utf8(code)) return {};
  return Error{Code::kInvalidArgument, "invalid_code", "the program is no UTF-8 text", 0};
}

}  // namespace

Task<sdk::CodeResult> run_code(Connection& at, std::string ref, std::string code,
                               sdk::CodeOptions options) {
  CAY_CO_CHECK(check_text(code));
  auto running = posted(at, sandbox_target(ref, "/code"), code_body(std::move(code), options));
  auto result = co_await std::move(running);
  co_return result;
}

Task<sdk::CodeResult> run_code_once(Connection& at, std::string code, sdk::CodeOptions options,
                                    sdk::CreateOptions sandbox) {
  CAY_CO_CHECK(check_text(code));
  json::object body = code_body(std::move(code), options);
  body["sandbox"] = create_body(sandbox);
  auto running = posted(at, "/api/v1/code", std::move(body));
  auto result = co_await std::move(running);
  co_return result;
}

}  // namespace cay::client
