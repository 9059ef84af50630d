#include "codec/proxy_json.h"

#include "codec/time.h"

namespace cay::codec {
namespace {

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(text(one));
  return out;
}

json::object to_json(const ProxyRule& rule) {
  json::array headers;
  for (const ProxyHeader& one : rule.headers) {
    json::object header{{"name", text(one.name)}};
    if (!one.value.empty()) header["value"] = text(one.value);
    if (!one.basic_user.empty()) header["basic_user"] = text(one.basic_user);
    headers.emplace_back(std::move(header));
  }
  json::object env;
  for (const auto& [name, value] : rule.env) env[text(name)] = text(value);
  json::object out{{"name", text(rule.name)},        {"secret", text(rule.secret)},
                   {"way", to_string(rule.way)},     {"hosts", texts(rule.hosts)},
                   {"methods", texts(rule.methods)}, {"paths", texts(rule.paths)},
                   {"headers", std::move(headers)},  {"env", std::move(env)}};
  if (rule.gone) out["gone"] = true;
  return out;
}

// Returns the name of a fence that has none: "*.example.com:8443" gives "example.com".
std::string name_after(const std::string& host) {
  const std::size_t begin = host.starts_with("*.") ? 2 : 0;
  return host.substr(begin, host.find(':') - begin);
}

ProxyRule rule_in(const json::object& from, const std::vector<std::string>& where, Fields& outer) {
  ProxyRule out;
  Fields fields(from, where);
  fields.read("secret", out.secret);
  const bool named = fields.read("name", out.name);
  if (!named) out.name = out.secret;
  std::string way = "headers";
  fields.read("way", way);
  if (const auto known = proxy_way_from(way)) {
    out.way = *known;
  } else {
    fields.complain("way", "must be base_url, headers or placeholder");
  }
  fields.read("hosts", out.hosts, kMostSecretHosts);
  if (!named && out.is_fence() && !out.hosts.empty()) out.name = name_after(out.hosts.front());
  fields.read("methods", out.methods, kMostSecretHosts);
  fields.read("paths", out.paths, kMostSecretHosts);
  if (const json::array* headers = fields.array("headers")) {
    for (const json::value& one : *headers) {
      if (!one.is_object()) {
        fields.complain("headers", "must be a list of objects");
        break;
      }
      Fields inner(one.get_object(), fields.path("headers"));
      ProxyHeader header;
      inner.read("name", header.name);
      inner.read("value", header.value);
      inner.read("basic_user", header.basic_user);
      inner.refuse_unknown();
      fields.adopt(inner);
      out.headers.push_back(std::move(header));
    }
  }
  fields.read("env", out.env, kMostSecretHosts);
  bool told = false;
  fields.read("gone", told);  // read and ignored: a client does not decide it
  fields.refuse_unknown();
  outer.adopt(fields);
  return out;
}

}  // namespace

json::object to_json(const SecretInfo& secret) {
  return {{"name", text(secret.name)},
          {"hosts", texts(secret.hosts)},
          {"version", secret.version},
          {"created_by", text(secret.created_by)},
          {"created_at", rfc3339(secret.created_at)},
          {"updated_at", rfc3339(secret.updated_at)}};
}

json::array to_json(const std::vector<ProxyRule>& rules) {
  json::array out;
  for (const ProxyRule& rule : rules) out.emplace_back(to_json(rule));
  return out;
}

std::optional<std::vector<ProxyRule>> read_proxy(Fields& fields) {
  const json::array* list = fields.array("proxy");
  if (list == nullptr) return std::nullopt;
  std::vector<ProxyRule> out;
  for (const json::value& one : *list) {
    if (!one.is_object()) {
      fields.complain("proxy", "must be a list of objects");
      return std::nullopt;
    }
    out.push_back(rule_in(one.get_object(), fields.path("proxy"), fields));
  }
  return out;
}

}  // namespace cay::codec
