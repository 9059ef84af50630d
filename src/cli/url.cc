// cay url: links to services and files of a sandbox: made, listed, withdrawn.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/answers.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/sandbox_words.h"
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
        "browsers need a host for each service: start the daemon with --service-domain. "
        "Programs: send X-Cay-Service-Token (see --json)");
  }
  print((args.port == 0 || browser.empty() ? text_of(link, "url") : browser) + "\n");
  return kOk;
}

int url_command(Context& at, const UrlArgs& args) {
  if (args.withdraw) return withdraw(at, args);
  if (args.port == 0 && args.file.empty()) return list(at, args);
  return make(at, args);
}

}  // namespace

Command url_entry() {
  struct State {
    UrlArgs args;
    std::string expires;
  };
  const auto state = std::make_shared<State>();
  return {
      .name = "url",
      .help = "A link to a web service or file of a sandbox, for anybody who has it",
      .examples =
          "  cay url box 8080                          prints where a browser begins; good for an "
          "hour\n"
          "  cay url box 8080 --expires 1d --json      with the token that programs send\n"
          "  cay url box --file /tmp/report.pdf        a download; good for a day\n"
          "  cay url box                               the links there are\n"
          "  cay url box 8080 --withdraw               all of that port; cuts what is open\n"
          "  cay url box --withdraw --id ID            one; without --id and port: all\n\n"
          "A request through a link wakes a stopped sandbox and is use of it.\n",
      .options =
          [state](Options& to) {
            UrlArgs& args = state->args;
            to.needed("SANDBOX", args.sandbox, "Name or id");
            to.port("PORT", args.port, "Where the service listens inside");
            to.text("--file", args.file, "A file inside, instead of a service");
            to.text("--expires", state->expires,
                    "Good for so long, as 10m or 7d (default: 1h; files: 1d, and never: until "
                    "withdrawn)");
            to.flag("--withdraw", args.withdraw, "Take links back");
            to.text("--id", args.link, "With --withdraw: this link");
            to.flag("--inline", args.shown, "With --file: browsers show it, without scripts");
            to.text("--type", args.content_type, "With --file: its content type");
            to.text("-u,--user", args.user, "With --file: who reads it inside (default: root)");
          },
      .args = [state](const Line&) -> std::any {
        UrlArgs& args = state->args;
        const bool file = !args.file.empty();
        if (!state->expires.empty())
          args.expires_s =
              file && state->expires == "never" ? 0 : must_seconds(state->expires, "--expires");
        if (file && args.port != 0) wrong("--file", "and a port do not go together");
        if (args.withdraw && (file || args.expires_s))
          wrong("--withdraw", "takes a port or --id alone");
        if (!args.withdraw && !args.link.empty()) wrong("--id", "is for --withdraw");
        if (args.port != 0 && !args.link.empty()) wrong("--id", "and a port do not go together");
        if (!file && (args.shown || !args.content_type.empty() || !args.user.empty()))
          wrong("--inline, --type and --user", "go with --file");
        if (!file && args.port == 0 && args.expires_s) wrong("--expires", "needs a port or --file");
        return args;
      },
      .run = runs(url_command)};
}

}  // namespace cay::cli
