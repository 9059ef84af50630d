#include "api/daytona/toolbox/token_sockets.h"

#include <memory>
#include <utility>

#include "api/daytona/plane.h"
#include "api/daytona/toolbox/admitted.h"
#include "api/daytona/toolbox/interpreter.h"
#include "api/daytona/toolbox/pty.h"
#include "api/daytona/toolbox/sessions.h"
#include "async/until_set.h"
#include "core/verbs/links.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::daytona {
namespace {

constexpr std::string_view kTokenParameter = "DAYTONA_SANDBOX_AUTH_KEY";
constexpr std::uint16_t kToolboxPort = 1;
using KeyLives = std::function<bool(const Link&)>;
using SocketVerb = Task<void> (*)(core::Cay&, ExchangePtr);
constexpr std::pair<const char*, SocketVerb> kSockets[] = {
    {"/process/pty/create-connect", create_connect_pty},
    {"/process/pty/{pty}/connect", connect_pty},
    {"/process/session/entrypoint/logs", entrypoint_logs},
    {"/process/session/{session}/command/{command}/logs", session_logs},
    {"/process/interpreter/execute", interpret}};

bool is_token_socket(const http::RequestHead& head) {
  return head.wants_websocket && head.query.get(kTokenParameter) &&
         !head.headers.get("Authorization") && head.segments.size() > 1 &&
         head.segments[0] == "daytona" && head.segments[1] == "toolbox";
}

http::Response token_refusal(const http::RequestHead& head, int status, const Error& error) {
  return refused(head, Plane::kToolbox, Refusal{status, std::string(code_of_status(status))},
                 error.message);
}

// The link whose token the request shows. A stranger learns nothing about which sandboxes there
// are.
Result<core::OpenLink> shown_link(core::Cay& cay, const KeyLives& key_lives,
                                  const ExchangePtr& exchange) {
  const std::string token(exchange->head().query.get(kTokenParameter).value_or(""));
  CAY_TRY(auto link, cay.links().use(token, SandboxId(exchange->params().at("id")), kToolboxPort));
  if (!key_lives || !key_lives(link.link)) {
    return Error{Code::kUnauthenticated, "unknown_link",
                 "the key that made this link is no longer let in", 0};
  }
  return link;
}

Task<void> serve_by_token(core::Cay& cay, KeyLives key_lives, SocketVerb verb,
                          ExchangePtr exchange) {
  CAY_CO_TRY(const core::OpenLink open, shown_link(cay, key_lives, exchange));
  const Link& link = open.link;
  CAY_CO_CHECK(
      exchange->let_in({http::Caller::Kind::kLink, link.tenant.get() + "/" + link.id.get()}));
  Principal who{.tenant = link.tenant, .key_name = link.created_by};
  who.scope = KeyScope::kUse;
  who.only = link.sandbox;
  auto admitted = std::make_shared<Admitted>(exchange, std::move(who));
  auto done = co_await until_set(verb(cay, std::move(admitted)), *open.ended,
                                 Error{Code::kCancelled, "link_withdrawn", "", 0});
  if (!open.ended->is_set()) co_return done;
  const bool begun = co_await exchange->break_off(open.ended->why().message);
  if (!begun) co_return open.ended->why();
  co_return Result<void>();
}

}  // namespace

void divert_token_sockets(http::Router& router, core::Cay& cay, const DaytonaConfig& config) {
  auto table = std::make_shared<http::Router>();
  const std::string prefix = std::string(kToolboxPrefix) + "/{id}";
  http::Facade facade{.prefixes = {kPrefix}, .refusal = token_refusal};
  for (const auto& [path, verb] : kSockets) facade.without_key.push_back("GET " + prefix + path);
  table->declare(std::move(facade));
  PlaneRoutes routes(*table, cay, Plane::kToolbox, prefix);
  for (const auto& socket : kSockets) {
    const auto bound = [key_lives = config.key_lives, verb = socket.second](core::Cay& on,
                                                                            ExchangePtr exchange) {
      return serve_by_token(on, key_lives, verb, std::move(exchange));
    };
    routes.add_stream("GET", socket.first, bound, http::Auth::kOwn);
  }
  router.divert(is_token_socket, std::move(table));
}

}  // namespace cay::api::daytona
