#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/git.h"
#include "api/daytona/toolbox/git_run.h"
#include "base/ascii.h"

namespace cay::api::daytona {
namespace {

// The scope of a setting, and the directory from which git finds its file.
struct ConfigPlace {
  std::string scope = "--global";
  std::string directory;
};

// `scope`: global, local, system, or empty. A path without a scope is a repository's.
Result<ConfigPlace> config_place(const Box& box, const std::string& scope,
                                 const std::string& path) {
  ConfigPlace out;
  if (!path.empty()) {
    out.directory = box.absolute(path);
    out.scope = "--local";
  }
  if (scope.empty()) return out;
  if (scope != "global" && scope != "local" && scope != "system")
    return vendor_error(kBadRequest, "scope is global, local or system");
  if (scope == "local" && path.empty())
    return vendor_error(kBadRequest, "a local setting needs the path of a repository");
  out.scope = "--" + scope;
  return out;
}

Task<void> set_config(core::Cay& cay, Box box, ConfigPlace place, std::string key,
                      std::string value) {
  CAY_CO_CHECK(check_git_name(key, "key"));
  GitCall call{.args = {"config", place.scope, key, value}, .directory = place.directory};
  CAY_CO_TRY(const std::string done, co_await run_git(cay, std::move(box), std::move(call)));
  static_cast<void>(done);
  co_return Result<void>();
}

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

Task<http::Response> git_get_config(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string key, needed_query(exchange, "key"));
  CAY_CO_CHECK(check_git_name(key, "key"));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  const std::string scope = query_text(exchange, "scope");
  CAY_CO_TRY(const ConfigPlace place, config_place(box, scope, query_text(exchange, "path")));
  GitCall call{.args = {"config"}, .directory = place.directory};
  if (!scope.empty()) call.args.push_back(place.scope);
  call.args.insert(call.args.end(), {"--get", key});
  CAY_CO_TRY(const RanProgram ran, co_await try_git(cay, box, std::move(call)));
  codec::json::object out;
  const int exit_code = ran.exit_code;
  constexpr int kUnset = 1;
  if (exit_code == 0) {
    std::string_view value = ran.out;
    if (value.ends_with('\n')) value.remove_suffix(1);
    out["value"] = codec::text(value);
  } else if (exit_code != kUnset || !ran.err.empty()) {
    co_return git_failure(ran.err, exit_code);
  }
  co_return json_answer(200, out);
}

Task<http::Response> git_set_config(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string key, value, scope, path;
  if (!fields.read("key", key) || key.empty()) fields.complain("key", "is required");
  if (!fields.read("value", value)) fields.complain("value", "is required");
  fields.read("scope", scope);
  fields.read("path", path);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const ConfigPlace place, config_place(box, scope, path));
  CAY_CO_CHECK(co_await set_config(cay, box, place, key, value));
  co_return empty_answer(200);
}

Task<http::Response> git_configure_user(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string name, email, scope, path;
  if (!fields.read("name", name) || name.empty()) fields.complain("name", "is required");
  if (!fields.read("email", email) || email.empty()) fields.complain("email", "is required");
  fields.read("scope", scope);
  fields.read("path", path);
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  CAY_CO_TRY(const ConfigPlace place, config_place(box, scope, path));
  CAY_CO_CHECK(co_await set_config(cay, box, place, "user.name", name));
  CAY_CO_CHECK(co_await set_config(cay, box, place, "user.email", email));
  co_return empty_answer(200);
}

Task<http::Response> git_authenticate(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto body, co_await toolbox_body(exchange));
  codec::Fields fields(body);
  std::string username, password, host = "github.com", protocol = "https";
  if (!fields.read("username", username) || username.empty())
    fields.complain("username", "is required");
  if (!fields.read("password", password) || password.empty())
    fields.complain("password", "is required");
  fields.read("host", host);
  fields.read("protocol", protocol);
  for (const std::string* one : {&username, &password, &host, &protocol}) {
    if (!is_one_line(*one)) fields.complain("", "each member is one line");
  }
  CAY_CO_CHECK(checked_body(fields));
  CAY_CO_TRY(const Box box, co_await box_of(cay, exchange));
  // A year: until the sandbox stops, in fact.
  constexpr const char* kKeeper = "cache --timeout=31536000";
  CAY_CO_CHECK(co_await set_config(cay, box, {}, "credential.helper", kKeeper));
  GitCall call{.args = {"credential", "approve"}};
  call.input = "protocol=" + protocol + "\nhost=" + host + "\nusername=" + username +
               "\npassword=" + password + "\n\n";
  CAY_CO_TRY(const std::string done, co_await run_git(cay, box, std::move(call)));
  static_cast<void>(done);
  co_return empty_answer(200);
}

}  // namespace cay::api::daytona
