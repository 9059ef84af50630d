// cay url: links to services and files of a sandbox: made, listed, withdrawn.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

std::string links_of(const std::string& sandbox) {
  return "/api/v1/sandboxes/" + http::encode_segment(sandbox) + "/links";
}

int list(Context& at, const UrlArgs& args) {
  const auto body = parsed(at.client.request("GET", links_of(args.sandbox)));
  const auto& items = body.at("items").as_array();
  if (at.json) {
    print(items_as_json(body));
    return kOk;
  }
  std::vector<Row> rows;
  for (const auto& item : items) {
    const auto& link = item.as_object();
    const std::string expires = text_of(link, "expires_at");
    rows.push_back({text_of(link, "id"), text_of(link, "port") + text_of(link, "path"),
                    text_of(link, "created_at"), expires.empty() ? "never" : expires,
                    text_of(link, "created_by")});
  }
  print(table({"ID", "PORT/PATH", "CREATED", "EXPIRES", "BY"}, rows));
  return kOk;
}

int withdraw(Context& at, const UrlArgs& args) {
  const std::string all = links_of(args.sandbox);
  std::string answer;
  if (!args.link.empty()) {
    at.client.request("DELETE", all + "/" + http::encode_segment(args.link));
    answer = R"({"withdrawn":1})";
  } else {
    answer = at.client.request("DELETE",
                               args.port == 0 ? all : all + "?port=" + std::to_string(args.port));
  }
  if (at.json) print(answer + "\n");
  return kOk;
}

int make(Context& at, const UrlArgs& args) {
  json::object ask;
  if (args.port != 0) {
    ask["port"] = args.port;
  } else {
    ask["path"] = args.file;
    if (!args.user.empty()) ask["user"] = args.user;
    if (!args.content_type.empty()) ask["content_type"] = args.content_type;
    if (args.shown) ask["inline"] = true;
  }
  if (args.expires_s) ask["expires_in_s"] = *args.expires_s;
  const std::string answer = at.client.request("POST", links_of(args.sandbox), codec::write(ask));
  if (at.json) {
    print(answer + "\n");
    return kOk;
  }
  const auto link = parsed(answer);
  const std::string browser = text_of(link, "browser_url");
  if (args.port != 0 && browser.empty()) {
    print_error(
        "browsers need a host for each service: start the daemon with --service-domain. Programs: send X-Cay-Service-Token (see --json)");
  }
  print((args.port == 0 || browser.empty() ? text_of(link, "url") : browser) + "\n");
  return kOk;
}

}  // namespace

int url_command(Context& at, const UrlArgs& args) {
  if (args.withdraw) return withdraw(at, args);
  if (args.port == 0 && args.file.empty()) return list(at, args);
  return make(at, args);
}

}  // namespace cay::cli
