#include "client/json_write.h"

#include "cay/error.h"
#include "codec/settings_json.h"
#include "codec/utf8.h"

namespace cay::client {
namespace {

// JSON carries text. The client rejects other bytes and names the field: the daemon could only
// reject the whole request.
const std::string& text(std::string_view what, const std::string& value) {
  if (codec::is_utf8(value)) return value;
  throw ApiError(ErrorCode::kInvalidArgument, "invalid_field",
                 std::string(what) +
                     ": is not valid UTF-8, which requests are made of: pass such bytes by stdin "
                     "or in a file");
}

json::string text_json(std::string_view what, std::string_view value) {
  return json::string(text(what, std::string(value)));
}

json::object strings(std::string_view what, const std::map<std::string, std::string>& from) {
  json::object out;
  for (const auto& [key, value] : from) out[text(what, key)] = text(what, value);
  return out;
}

void put(json::object& out, std::string_view name, const std::string& value) {
  if (!value.empty()) out[name] = text(name, value);
}

json::array rules(const std::string& written) {
  auto value = codec::parse(text("proxy", written));
  if (!value || !value->is_array())
    throw ApiError(ErrorCode::kInvalidArgument, "invalid_field",
                   "proxy: must be a JSON list of rules");
  return std::move(value->get_array());
}

json::object limits_body(const sdk::Limits& limits) {
  json::object out;
  if (limits.cpu_millicores != 0) out["cpu_millicores"] = limits.cpu_millicores;
  if (limits.memory_bytes != 0) out["memory_bytes"] = limits.memory_bytes;
  if (limits.disk_bytes != 0) out["disk_bytes"] = limits.disk_bytes;
  if (limits.pids != 0) out["pids"] = limits.pids;
  return out;
}

json::array words(std::string_view what, const std::vector<std::string>& from) {
  json::array out;
  for (const auto& word : from) out.emplace_back(text(what, word));
  return out;
}

json::object login_body(const sdk::RegistryLogin& login) {
  json::object out;
  put(out, "username", login.username);
  put(out, "password", login.password);
  put(out, "identity_token", login.identity_token);
  return out;
}

void put_login(json::object& out, const sdk::RegistryLogin& login) {
  if (!login.empty()) out["login"] = login_body(login);
}

// "tools:1" is a name and a tag.
void put_snapshot_name(json::object& out, const std::string& name) {
  const auto [bare, tag] = name_and_tag(name);
  put(out, "name", bare);
  put(out, "tag", tag);
}

}  // namespace

std::pair<std::string, std::string> name_and_tag(const std::string& name) {
  const auto colon = name.rfind(':');
  if (colon == std::string::npos) return {name, {}};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

json::object pull_body(const sdk::PullOptions& options) {
  json::object out{{"image", text("image", options.image)}};
  put_snapshot_name(out, options.name);
  put(out, "platform", options.platform);
  put_login(out, options.login);
  return out;
}

json::object build_body(const sdk::BuildOptions& options) {
  json::object out{{"dockerfile", text("dockerfile", options.dockerfile)}};
  put_snapshot_name(out, options.name);
  put(out, "target", options.target);
  if (!options.arguments.empty()) out["arguments"] = strings("arguments", options.arguments);
  json::object secrets;
  for (const auto& [id, value] : options.secrets)
    secrets[text("secrets", id)] = text("the secret " + id, value);
  if (!secrets.empty()) out["secrets"] = std::move(secrets);
  put(out, "policy", options.policy);
  if (options.no_cache) out["no_cache"] = true;
  if (options.pull) out["pull"] = true;
  json::object logins;
  for (const auto& [host, login] : options.logins) logins[host] = login_body(login);
  if (!logins.empty()) out["logins"] = std::move(logins);
  put(out, "platform", options.platform);
  return out;
}

json::object push_body(const sdk::PushOptions& options) {
  json::object out{{"reference", text("image", options.image)}};
  put_login(out, options.login);
  return out;
}

json::object tag_body(const std::string& tag) { return {{"tag", text("tag", tag)}}; }

json::object capture_body(const std::string& name) {
  json::object out;
  put_snapshot_name(out, name);
  return out;
}

json::object fork_body(const sdk::ForkOptions& options) {
  json::object out;
  if (options.names.empty()) {
    out["count"] = options.count;
  } else {
    out["names"] = words("names", options.names);
  }
  if (!options.labels.empty()) out["labels"] = strings("labels", options.labels);
  return out;
}

json::object rollback_body(const std::string& to) {
  json::object out;
  put(out, "snapshot", to);
  return out;
}

json::object create_body(const sdk::CreateOptions& options) {
  json::object out;
  put(out, "name", options.name);
  put(out, "snapshot", options.snapshot);
  if (!options.labels.empty()) out["labels"] = strings("labels", options.labels);
  json::object limits = limits_body(options.limits);
  if (!limits.empty()) out["limits"] = std::move(limits);
  put(out, "user", options.user);
  put(out, "workdir", options.workdir);
  if (!options.env.empty()) out["env"] = strings("env", options.env);
  put(out, "policy", options.policy);
  codec::put_given_settings(out, options, text_json);
  if (!options.proxy.empty()) out["proxy"] = rules(options.proxy);
  out["wait"] = options.wait;
  if (options.wait) out["timeout_s"] = options.timeout_s;
  return out;
}

json::object ensure_body(const std::string& claim, const sdk::CreateOptions& options) {
  json::object out = create_body(options);
  out["claim"] = text("claim", claim);
  return out;
}

json::object update_body(const sdk::UpdateOptions& options) {
  json::object out;
  if (options.name) out["name"] = text("name", *options.name);
  if (options.labels) out["labels"] = strings("labels", *options.labels);
  codec::put_given_settings(out, options, text_json);
  if (options.policy) out["policy"] = text("policy", *options.policy);
  if (options.limits) {
    json::object limits = limits_body(*options.limits);
    if (!limits.empty()) out["limits"] = std::move(limits);
  }
  return out;
}

json::object command_body(const std::vector<std::string>& argv, Line line,
                          const sdk::CommandOptions& options) {
  json::object out;
  if (line == Line::kShell) {
    out["command"] = argv.empty() ? std::string() : text("command", argv.front());
  } else {
    json::array& list = out["argv"].emplace_array();
    for (const auto& arg : argv) list.emplace_back(text("argv", arg));
  }
  put(out, "id", options.id);
  if (!options.env.empty()) out["env"] = strings("env", options.env);
  put(out, "cwd", options.cwd);
  put(out, "user", options.user);
  if (options.terminal)
    out["pty"] = {{"rows", options.terminal->rows}, {"cols", options.terminal->cols}};
  if (options.timeout_s) out["timeout_s"] = *options.timeout_s;
  if (options.idle_timeout_s) out["idle_timeout_s"] = *options.idle_timeout_s;
  if (options.ttl_s) out["ttl_s"] = *options.ttl_s;
  if (options.output_limit_bytes > 0) out["output_limit_bytes"] = options.output_limit_bytes;
  if (options.kill_on_disconnect) out["kill_on_disconnect"] = true;
  out["close_stdin"] = options.close_stdin;
  if (options.end_tree) out["end_tree"] = true;
  return out;
}

}  // namespace cay::client
