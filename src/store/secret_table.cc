#include "store/secret_table.h"

#include <boost/json.hpp>

#include "store/rows.h"

namespace cay::store {
namespace {

namespace json = boost::json;

constexpr char kHex[] = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
  return out;
}

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1])));
  return out;
}

Error broken() {
  return {Code::kInternal, "store_broken",
          "state.db holds rules that nobody wrote: restore it from a backup", 0};
}

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

std::vector<std::string> texts_of(const json::value& from) {
  std::vector<std::string> out;
  for (const json::value& one : from.as_array()) out.emplace_back(one.as_string());
  return out;
}

std::string text_of(const json::object& from, const char* name) {
  return std::string(from.at(name).as_string());
}

// Before rules had methods '*' went over slashes.
std::string as_one_star_was(const std::string& glob) {
  std::string out;
  for (const char c : glob) {
    if (c != '*') {
      out += c;
    } else if (!out.ends_with('*')) {
      out += "**";
    }
  }
  return out;
}

ProxyRule rule_of(const json::object& from) {
  ProxyRule out;
  out.name = text_of(from, "name");
  out.secret = text_of(from, "secret");
  out.way = proxy_way_from(text_of(from, "way")).value();
  out.hosts = texts_of(from.at("hosts"));
  out.paths = texts_of(from.at("paths"));
  if (const json::value* methods = from.if_contains("methods")) {
    out.methods = texts_of(*methods);
  } else {
    for (std::string& path : out.paths) path = as_one_star_was(path);
  }
  for (const json::value& one : from.at("headers").as_array()) {
    const json::object& header = one.as_object();
    out.headers.push_back(
        {text_of(header, "name"), text_of(header, "value"), text_of(header, "basic_user")});
  }
  for (const auto& member : from.at("env").as_object())
    out.env.emplace(member.key(), member.value().as_string());
  out.token = text_of(from, "token");
  if (const json::value* hosts = from.if_contains("gone_hosts")) {
    out.gone = true;
    out.gone_hosts = texts_of(*hosts);
  }
  return out;
}

}  // namespace

std::string encode_rules(const std::vector<ProxyRule>& rules) {
  json::array out;
  for (const ProxyRule& rule : rules) {
    json::array headers;
    for (const ProxyHeader& one : rule.headers)
      headers.push_back(
          json::object{{"name", one.name}, {"value", one.value}, {"basic_user", one.basic_user}});
    json::object env;
    for (const auto& [name, value] : rule.env) env.emplace(name, value);
    json::object& one = out.emplace_back(json::object{{"name", rule.name},
                                                      {"secret", rule.secret},
                                                      {"way", to_string(rule.way)},
                                                      {"hosts", texts(rule.hosts)},
                                                      {"methods", texts(rule.methods)},
                                                      {"paths", texts(rule.paths)},
                                                      {"headers", std::move(headers)},
                                                      {"env", std::move(env)},
                                                      {"token", rule.token}})
                            .get_object();
    if (rule.gone) one["gone_hosts"] = texts(rule.gone_hosts);
  }
  return json::serialize(out);
}

Result<std::vector<ProxyRule>> decode_rules(const std::string& text) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::error_code error;
  const json::value value = json::parse(text, error, {}, options);
  if (error || !value.is_array()) return broken();
  std::vector<ProxyRule> out;
  try {
    for (const json::value& one : value.get_array()) out.push_back(rule_of(one.as_object()));
  } catch (const std::exception&) {
    return broken();
  }
  return out;
}

Result<void> SecretTable::put(const StoredSecret& secret) {
  CAY_TRY(
      db::Statement row,
      db_.prepare(
          "INSERT INTO secret (tenant, name, hosts, version, created_by, created_at, updated_at, "
          "sealed) VALUES (?,?,?,?,?,?,?,?) "
          "ON CONFLICT (tenant, name) DO UPDATE SET hosts = excluded.hosts, version = "
          "excluded.version, created_by = excluded.created_by, "
          "updated_at = excluded.updated_at, sealed = excluded.sealed"));
  const SecretInfo& info = secret.info;
  row.bind(info.tenant.get())
      .bind(info.name)
      .bind(json::serialize(texts(info.hosts)))
      .bind(static_cast<std::int64_t>(info.version))
      .bind(info.created_by);
  row.bind(info.created_at).bind(info.updated_at).bind(to_hex(secret.sealed));
  return row.run();
}

Result<void> SecretTable::erase(const TenantId& tenant, const std::string& name) {
  CAY_TRY(db::Statement row, db_.prepare("DELETE FROM secret WHERE tenant = ? AND name = ?"));
  return row.bind(tenant.get()).bind(name).run();
}

Result<std::vector<StoredSecret>> SecretTable::rows() {
  CAY_TRY(
      db::Statement rows,
      db_.prepare_once(
          "SELECT tenant, name, hosts, version, created_by, created_at, updated_at, sealed FROM "
          "secret ORDER BY tenant, name"));
  std::vector<StoredSecret> out;
  for (;;) {
    CAY_TRY(const bool row, rows.step());
    if (!row) return out;
    StoredSecret secret;
    secret.info.tenant = TenantId(rows.text(0));
    secret.info.name = rows.text(1);
    json::error_code error;
    const json::value hosts = json::parse(rows.text(2), error);
    if (error || !hosts.is_array()) return broken();
    for (const json::value& one : hosts.get_array()) {
      if (one.is_string()) secret.info.hosts.emplace_back(one.get_string());
    }
    secret.info.version = static_cast<std::uint64_t>(rows.number(3));
    secret.info.created_by = rows.text(4);
    secret.info.created_at = rows.number(5);
    secret.info.updated_at = rows.number(6);
    secret.sealed = from_hex(rows.text(7));
    out.push_back(std::move(secret));
  }
}

}  // namespace cay::store
