#include "codec/build_json.h"

#include "codec/lenient.h"
#include "codec/model_read.h"
#include "codec/snapshot_json.h"

namespace cay::codec {
namespace {

constexpr std::size_t kLargestDockerfile = 1 << 20;
constexpr std::size_t kMostOfBuild = 1024;  // arguments, and secrets

json::object texts_json(const std::map<std::string, std::string>& pairs) {
  json::object out;
  for (const auto& [key, value] : pairs) out[text(key)] = text(value);
  return out;
}

void read_logins(Fields& fields, std::map<std::string, RegistryLogin>& logins) {
  const json::object* given = fields.object("logins");
  if (given == nullptr) return;
  Fields hosts(*given, fields.path("logins"));
  for (const auto& member : *given) {
    const std::string host(member.key());
    const json::object* of_host = hosts.object(host);
    if (of_host == nullptr) continue;
    Fields in(*of_host, hosts.path(host));
    RegistryLogin login;
    read_login_members(in, login);
    in.refuse_unknown();
    hosts.adopt(in);
    logins[host] = std::move(login);
  }
  hosts.refuse_unknown();
  fields.adopt(hosts);
}

}  // namespace

json::object to_json(const BuildRequest& request, const NewSnapshot& made) {
  json::object out = to_json(made);
  out["dockerfile"] = text(request.dockerfile);
  if (!request.target.empty()) out["target"] = text(request.target);
  if (!request.arguments.empty()) out["arguments"] = texts_json(request.arguments);
  if (!request.secrets.empty()) out["secrets"] = texts_json(request.secrets);
  if (!request.policy.empty()) out["policy"] = text(request.policy);
  if (request.no_cache) out["no_cache"] = true;
  if (request.pull) out["pull"] = true;
  json::object logins;
  for (const auto& [host, login] : request.logins) logins[text(host)] = to_json(login);
  if (!logins.empty()) out["logins"] = std::move(logins);
  if (!request.platform.empty()) out["platform"] = text(request.platform);
  return out;
}

void read_build(Fields& fields, BuildRequest& request, NewSnapshot& made) {
  read_new_snapshot(fields, made);
  if (made.built) fields.complain("built", "is of captures alone");
  if (!fields.read("dockerfile", request.dockerfile, kLargestDockerfile) ||
      request.dockerfile.empty())
    fields.complain("dockerfile", "is needed: the text of the Dockerfile");
  fields.read("target", request.target);
  fields.read("arguments", request.arguments, kMostOfBuild);
  fields.read("secrets", request.secrets, kMostOfBuild);
  if (auto policy = read_policy(fields)) request.policy = *std::move(policy);
  fields.read("no_cache", request.no_cache);
  fields.read("pull", request.pull);
  read_logins(fields, request.logins);
  fields.read("platform", request.platform);
}

json::object to_json(const BuildLog& log) {
  return {{"snapshot_id", log.snapshot.get()},
          {"state", text(log.state)},
          {"from", log.from},
          {"end", log.end},
          {"text", text(log.text)},
          {"message", text(log.message)},
          {"reason", text(log.reason)}};
}

Result<BuildLog> build_log_from(const json::value& value) {
  if (!value.is_object()) {
    return Error{Code::kInternal, "bad_answer", "the daemon's answer holds no log of a build", 0};
  }
  const json::object& in = value.get_object();
  BuildLog out;
  out.snapshot = SnapshotId(string_at(in, "snapshot_id"));
  out.state = string_at(in, "state");
  out.from = number_at<std::uint64_t>(in, "from");
  out.end = number_at<std::uint64_t>(in, "end");
  out.text = string_at(in, "text");
  out.message = string_at(in, "message");
  out.reason = string_at(in, "reason");
  return out;
}

}  // namespace cay::codec
