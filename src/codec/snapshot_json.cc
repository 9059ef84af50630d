#include "codec/snapshot_json.h"

#include <limits>

#include "codec/lenient.h"
#include "codec/time.h"

namespace cay::codec {
namespace {

constexpr std::size_t kMostPairs = 1024;
constexpr std::size_t kMostWords = 4096;
constexpr std::int64_t kMostForks = 1000;

json::array words_json(const std::vector<std::string>& words) {
  json::array out;
  for (const std::string& word : words) out.emplace_back(text(word));
  return out;
}

json::object pairs_json(const std::map<std::string, std::string>& pairs) {
  json::object out;
  for (const auto& [key, value] : pairs) out[text(key)] = text(value);
  return out;
}

json::value given_or_null(const std::optional<std::string>& given) {
  if (!given) return nullptr;
  return json::value(text(*given));
}

void put_run(json::object& out, const RunConfig& run) {
  if (run.user) out["user"] = text(*run.user);
  if (run.workdir) out["workdir"] = text(*run.workdir);
  if (!run.env.empty()) out["env"] = pairs_json(run.env);
}

void read_run_members(Fields& fields, RunConfig& run) {
  std::string value;
  if (fields.read("user", value)) run.user = value;
  if (fields.read("workdir", value)) run.workdir = value;
  fields.read("env", run.env, kMostPairs);
}

void read_config(Fields& fields, std::optional<ImageConfig>& out) {
  const json::object* given = fields.object("config");
  if (given == nullptr) return;
  Fields in(*given, fields.path("config"));
  ImageConfig config;
  read_run_members(in, config.run);
  in.read("entrypoint", config.entrypoint, kMostWords);
  in.read("command", config.command, kMostWords);
  in.read("labels", config.labels, kMostPairs);
  in.read("ports", config.ports, kMostPairs);
  in.refuse_unknown();
  fields.adopt(in);
  out = std::move(config);
}

std::vector<std::string> words_at(const json::object& in, std::string_view name) {
  std::vector<std::string> out;
  const auto* found = in.if_contains(name);
  if (found == nullptr || !found->is_array()) return out;
  for (const auto& word : found->get_array()) {
    if (word.is_string()) out.emplace_back(word.get_string());
  }
  return out;
}

ImageConfig config_at(const json::object& outer, std::string_view name) {
  const json::object& in = object_at(outer, name);
  ImageConfig out;
  out.run.user = maybe_string_at(in, "user");
  out.run.workdir = maybe_string_at(in, "workdir");
  out.run.env = map_at(in, "env");
  out.entrypoint = words_at(in, "entrypoint");
  out.command = words_at(in, "command");
  out.labels = map_at(in, "labels");
  out.ports = words_at(in, "ports");
  return out;
}

Error no_such_answer(std::string_view what) {
  return Error{Code::kInternal, "bad_answer", "the daemon's answer holds no " + std::string(what),
               0};
}

}  // namespace

json::object to_json(const ImageConfig& config) {
  return {{"user", given_or_null(config.run.user)}, {"workdir", given_or_null(config.run.workdir)},
          {"env", pairs_json(config.run.env)},      {"entrypoint", words_json(config.entrypoint)},
          {"command", words_json(config.command)},  {"labels", pairs_json(config.labels)},
          {"ports", words_json(config.ports)}};
}

json::object to_json(const SnapshotInfo& snapshot) {
  return {{"id", snapshot.id.get()},
          {"name", text(snapshot.name)},
          {"tags", words_json(snapshot.tags)},
          {"status", text(snapshot.status)},
          {"status_message", text(snapshot.status_message)},
          {"origin", text(snapshot.origin)},
          {"image", text(snapshot.image_name)},
          {"digest", text(snapshot.digest)},
          {"source_sandbox", snapshot.source_sandbox.get()},
          {"config", to_json(snapshot.config)},
          {"fingerprint", text(snapshot.fingerprint)},
          {"used_bytes", snapshot.used_bytes},
          {"own_bytes", snapshot.own_bytes},
          {"disk_bytes", snapshot.disk_bytes},
          {"runtime", text(snapshot.runtime)},
          {"host", snapshot.tenant.get().empty()},
          {"created_by", text(snapshot.created_by)},
          {"created_at", rfc3339(snapshot.created_at)},
          {"updated_at",
           rfc3339(snapshot.updated_at == 0 ? snapshot.created_at : snapshot.updated_at)}};
}

json::object to_json(const PushState& push) {
  return {{"snapshot_id", push.snapshot.get()},
          {"reference", text(push.reference)},
          {"state", text(push.state)},
          {"message", text(push.message)},
          {"digest", text(push.digest)}};
}

Result<SnapshotInfo> snapshot_from(const json::value& value) {
  if (!value.is_object()) return no_such_answer("snapshot");
  const json::object& in = value.get_object();
  SnapshotInfo out;
  out.id = SnapshotId(string_at(in, "id"));
  out.name = string_at(in, "name");
  out.tags = words_at(in, "tags");
  out.status = string_at(in, "status");
  out.status_message = string_at(in, "status_message");
  out.origin = string_at(in, "origin");
  out.image_name = string_at(in, "image");
  out.digest = string_at(in, "digest");
  out.source_sandbox = SandboxId(string_at(in, "source_sandbox"));
  out.config = config_at(in, "config");
  out.fingerprint = string_at(in, "fingerprint");
  out.used_bytes = number_at<std::uint64_t>(in, "used_bytes");
  out.own_bytes = number_at<std::uint64_t>(in, "own_bytes");
  out.disk_bytes = number_at<std::uint64_t>(in, "disk_bytes");
  out.runtime = string_at(in, "runtime");
  out.created_by = string_at(in, "created_by");
  out.created_at = from_rfc3339(string_at(in, "created_at")).value_or(0);
  out.updated_at = from_rfc3339(string_at(in, "updated_at")).value_or(0);
  return out;
}

Result<PushState> push_from(const json::value& value) {
  if (!value.is_object()) return no_such_answer("push");
  const json::object& in = value.get_object();
  PushState out;
  out.snapshot = SnapshotId(string_at(in, "snapshot_id"));
  out.reference = string_at(in, "reference");
  out.state = string_at(in, "state");
  out.message = string_at(in, "message");
  out.digest = string_at(in, "digest");
  return out;
}

json::object to_json(const ImageSource& source, const NewSnapshot& made) {
  json::object out = to_json(made);
  out["image"] = text(source.reference);
  if (!source.platform.empty()) out["platform"] = text(source.platform);
  if (source.login != RegistryLogin{}) out["login"] = to_json(source.login);
  return out;
}

void read_image_source(Fields& fields, ImageSource& source) {
  if (!fields.read("image", source.reference) || source.reference.empty())
    fields.complain("image", "is needed: the image's reference, such as python:3.12");
  fields.read("platform", source.platform);
  read_login(fields, source.login);
}

json::object to_json(const NewSnapshot& made) {
  json::object out;
  if (!made.name.empty()) out["name"] = text(made.name);
  if (!made.tag.empty()) out["tag"] = text(made.tag);
  if (made.config) out["config"] = to_json(*made.config);
  put_run(out, made.run);
  if (!made.labels.empty()) out["labels"] = pairs_json(made.labels);
  if (made.disk_bytes > 0) out["disk_bytes"] = made.disk_bytes;
  if (made.built) out["built"] = true;
  return out;
}

void read_new_snapshot(Fields& fields, NewSnapshot& made) {
  fields.read("name", made.name);
  fields.read("tag", made.tag);
  read_config(fields, made.config);
  read_run_members(fields, made.run);
  fields.read("labels", made.labels, kMostPairs);
  std::int64_t bytes = 0;
  if (fields.read("disk_bytes", bytes, 0, std::numeric_limits<std::int64_t>::max()))
    made.disk_bytes = static_cast<std::uint64_t>(bytes);
  fields.read("built", made.built);
}

json::object to_json(const RegistryLogin& login) {
  json::object out;
  if (!login.username.empty()) out["username"] = text(login.username);
  if (!login.password.empty()) out["password"] = text(login.password);
  if (!login.identity_token.empty()) out["identity_token"] = text(login.identity_token);
  return out;
}

void read_login(Fields& fields, RegistryLogin& login) {
  const json::object* given = fields.object("login");
  if (given == nullptr) return;
  Fields in(*given, fields.path("login"));
  read_login_members(in, login);
  in.refuse_unknown();
  fields.adopt(in);
}

void read_login_members(Fields& fields, RegistryLogin& login) {
  fields.read("username", login.username);
  fields.read("password", login.password);
  fields.read("identity_token", login.identity_token);
}

json::object to_json(const ForkRequest& request) {
  json::object out;
  if (!request.names.empty()) out["names"] = words_json(request.names);
  if (request.names.empty()) out["count"] = request.count;
  if (!request.labels.empty()) out["labels"] = pairs_json(request.labels);
  return out;
}

void read_fork(Fields& fields, ForkRequest& request) {
  fields.read("names", request.names, kMostForks);
  std::int64_t count = 1;
  if (fields.read("count", count, 1, kMostForks)) request.count = static_cast<std::uint32_t>(count);
  if (!request.names.empty() && fields.has("count") &&
      static_cast<std::size_t>(count) != request.names.size())
    fields.complain("count", "differs from the number of names: give one of the two");
  fields.read("labels", request.labels, kMostPairs);
}

}  // namespace cay::codec
