#include "code/code_json.h"

#include "codec/base64.h"
#include "codec/model_json.h"

namespace cay::code {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::size_t kMostArgs = 1000;
constexpr std::size_t kMostVariables = 1000;

codec::json::object artifact_json(const Artifact& artifact) {
  return {{"name", codec::text(artifact.name)},
          {"mime", artifact.mime},
          {"size", artifact.bytes.size()},
          {"content_base64", codec::base64(artifact.bytes)}};
}

}  // namespace

void read_request(codec::Fields& fields, RunRequest& request) {
  if (!fields.read("language", request.language) && fields.ok())
    fields.complain("language", "is needed: one of " + language_names());
  if (!fields.read("code", request.code, kMaxCode) && fields.ok())
    fields.complain("code", "is needed");
  const bool has_text = fields.read("stdin", request.stdin_bytes, kMaxStdin);
  std::string encoded;
  if (fields.read("stdin_base64", encoded, kMaxStdin / 3 * 4 + 4)) {
    if (has_text) fields.complain("stdin", "give at most one of stdin and stdin_base64");
    auto bytes = codec::from_base64(encoded);
    if (!bytes) fields.complain("stdin_base64", "must be base64");
    request.stdin_bytes = std::move(bytes).value_or("");
  }
  fields.read("args", request.args, kMostArgs);
  for (const std::string& word : request.args) {
    if (word.find('\0') != std::string::npos) fields.complain("args", "holds a NUL");
  }
  fields.read("libraries", request.libraries, kMaxLibraries);
  fields.read("env", request.run.env, kMostVariables);
  std::string text;
  if (fields.read("command_id", text)) {
    if (!is_valid_command_id(text))
      fields.complain("command_id",
                      "must be 1-128 of [A-Za-z0-9._-], not starting with '.' or '-'");
    request.command_id = CommandId(text);
  }
  if (fields.read("cwd", text)) request.run.workdir = text;
  if (fields.read("user", text)) request.run.user = text;
  double limit = 0;
  if (fields.read("timeout_s", limit, 0.001, static_cast<double>(kLongestRun / kSecond)))
    request.timeout_ms = static_cast<std::int64_t>(limit * kSecond);
  constexpr std::int64_t kMostOutput = 16 << 20;
  std::int64_t most = 0;
  if (fields.read("max_output_bytes", most, 0, kMostOutput))
    request.max_output_bytes = static_cast<std::uint64_t>(most);
}

codec::json::object to_json(const RunResult& result) {
  const codec::json::object command = codec::to_json(result.command);
  codec::json::object out;
  out["language"] = result.language->name;
  out["phase"] = to_string(result.phase);
  out["ok"] = result.ok();
  for (const auto* name : {"state", "exit_code", "signal", "by", "reason", "shell_exit_code"})
    out[name] = command.at(name);
  codec::put_bytes(out, "stdout", result.output.out);
  codec::put_bytes(out, "stderr", result.output.err);
  out["stdout_gap"] = codec::to_json(result.output.out_gap);
  out["stderr_gap"] = codec::to_json(result.output.err_gap);
  out["stdout_bytes"] = result.command.out.end_offset;
  out["stderr_bytes"] = result.command.err.end_offset;
  out["truncated"] = result.output.out_gap.has_value() || result.output.err_gap.has_value();
  for (const auto* name : {"oom_kills", "tmpfs_bytes", "started_at", "ended_at"})
    out[name] = command.at(name);
  codec::json::array artifacts, notes;
  for (const Artifact& artifact : result.artifacts) artifacts.emplace_back(artifact_json(artifact));
  for (const std::string& note : result.notes) notes.emplace_back(codec::text(note));
  out["artifacts"] = std::move(artifacts);
  out["notes"] = std::move(notes);
  out["installed"] = result.installed;
  out["install_ms"] = result.install_ms;
  out["compile_ms"] = result.compile_ms;
  out["run_ms"] = result.run_ms;
  out["command_id"] = result.command.id.get();
  out["sandbox"] = result.sandbox.get();
  return out;
}

}  // namespace cay::code
