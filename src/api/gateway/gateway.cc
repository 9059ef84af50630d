#include "api/gateway/gateway.h"

#include <algorithm>

#include "api/common/answer.h"
#include "api/gateway/downloads.h"
#include "api/gateway/headers.h"
#include "api/gateway/service_call.h"
#include "core/verbs/links.h"

namespace cay::api {
namespace {

constexpr std::string_view kOwnPaths = "/_svc/";  // of a service's host: ours, never the service's
constexpr std::string_view kLogIn = "/_svc/auth";
// Over plain http a browser does not send the requesting page's origin: a page of another sandbox,
// of the same site, could use the login.
constexpr std::string_view kLogInNeedsTls =
    "Browsers log in over https alone, or at a *.localhost name: start the daemon with --tls or "
    "--tls-cert, or name the TLS proxy in front "
    "of it with --trusted-proxy and have that set X-Forwarded-Proto: https";

// An answer for people and for programs alike. The reason is for programs.
http::Response told(int status, const std::string& reason, const std::string& sentence) {
  http::Response out;
  out.status = status;
  out.headers.add("Content-Type", "text/plain; charset=utf-8");
  out.headers.add("Cache-Control", "no-store");
  out.headers.add("X-Content-Type-Options", "nosniff");
  out.headers.add("Referrer-Policy", "no-referrer");
  if (!reason.empty()) out.headers.add("X-Cay-Error", reason);
  if (status == 401) out.headers.add("WWW-Authenticate", "Cay-Service-Token");
  if ((status == 503 && reason != "sandbox_paused") || status == 429)
    out.headers.add("Retry-After", "1");
  out.body = sentence + "\n";
  return out;
}

http::Response refusal(const Error& error) {
  if (error.reason == "link_expired")
    return told(403, error.reason, "Service link has expired: request a new one.");
  if (error.reason == "too_many_connections")
    return told(429, error.reason, "Too many connections: " + error.message + ".");
  if (error.code == Code::kUnauthenticated)
    return told(401, error.reason, "Authentication required: " + error.message + ".");
  if (error.code == Code::kPermissionDenied) return told(403, error.reason, error.message);
  return told(status_of(error), error.reason, error.message);
}

// Returns the answer for a request that did not reach its service.
http::Response unreachable(const Error& error) {
  const std::string sentence = "Service is not reachable: " + error.message;
  switch (error.code) {
    case Code::kInvalidArgument:
      return told(400, error.reason, error.message);  // the client's own body
    case Code::kDeadlineExceeded:
      return told(error.reason == "body_timeout" ? 408 : 504, error.reason, sentence);
    case Code::kExhausted: return told(503, error.reason, sentence);
    case Code::kNotReady:
      return told(error.reason == "connect_refused" ? 502 : 503, error.reason, sentence);
    case Code::kUnavailable:
      return told(error.reason == "draining" || error.reason == "shutting_down" ? 503 : 502,
                  error.reason, sentence);
    case Code::kCancelled:
      return told(error.reason.starts_with("link_") ? 403 : 502, error.reason, sentence);
    case Code::kInternal: return told(500, error.reason, sentence);
    default: return told(502, error.reason, sentence);
  }
}

http::Response file_refusal(const Error& error) {
  if (error.code == Code::kNotFound) return told(404, error.reason, error.message);
  if (error.code == Code::kInvalidArgument)
    return told(404, error.reason, error.message);  // a directory by now
  if (error.code == Code::kNotReady || error.code == Code::kExhausted)
    return told(503, error.reason, error.message);
  return told(status_of(error), error.reason, error.message);
}

http::Caller caller_of(const Link& link) {
  return {http::Caller::Kind::kLink, link.tenant.get() + "/" + link.id.get()};
}

std::string path_of(const http::RequestHead& head) {
  return head.target.substr(0, head.target.find('?'));
}

}  // namespace

Gateway::Gateway(asio::any_io_executor loop, core::Cay& cay, GatewayConfig config)
    : cay_(cay),
      config_(std::move(config)),
      kept_(loop),
      ending_(std::move(loop)),
      host_handler_([this](ExchangePtr exchange) { return serve_host(std::move(exchange)); }) {}

void Gateway::end() {
  ending_.set();
  kept_.end();
}

void Gateway::add_routes(http::Router& router) {
  const auto service = [this](ExchangePtr exchange) {
    return serve_service_path(std::move(exchange));
  };
  const auto file = [this](ExchangePtr exchange) { return serve_file_path(std::move(exchange)); };
  const std::string services = "/svc/{sandbox}/{port}/{rest...}", files = "/dl/{sandbox}/{token}";
  // No prefixes: what has no link's form is refused as the native API does.
  router.declare({.prefixes = {}, .without_key = {"* " + services, "* " + files}});
  router.add("*", services, service, http::Auth::kOwn);
  router.add("*", files, file, http::Auth::kOwn);
}

const http::Handler* Gateway::handler_of(const http::RequestHead& head) const {
  return config_.names.is_service_host(head.host) ? &host_handler_ : nullptr;
}

Result<core::OpenLink> Gateway::use(std::string_view token, const ServicePlace& place) const {
  CAY_TRY(auto link, cay_.links().use(token, place.sandbox, place.port));
  if (!config_.key_lives(link.link)) {
    return Error{Code::kUnauthenticated, "unknown_link",
                 "the key that made this link is no longer let in", 0};
  }
  return link;
}

// The token in a header counts alone; else any of the cookies that is good.
Result<core::OpenLink> Gateway::link_of(const http::RequestHead& head, const ServicePlace& place,
                                        bool cookies) const {
  for (const auto name : {kTokenHeader, kLangsmithTokenHeader, kDaytonaTokenHeader}) {
    if (const auto token = head.headers.get(name)) return use(*token, place);
  }
  const std::string by_header = "send the service's token as " + std::string(kTokenHeader);
  if (!cookies) return Error{Code::kUnauthenticated, "no_token", by_header, 0};
  if (!is_trustworthy(head))
    return Error{Code::kUnauthenticated, "no_token", by_header + ". " + std::string(kLogInNeedsTls),
                 0};
  Error error{Code::kUnauthenticated, "no_token", by_header + ", or open its browser_url first", 0};
  for (const auto& token : cookie_tokens(head)) {
    auto link = use(token, place);
    if (!link) {
      error = std::move(link).error();
      continue;
    }
    if (is_cross_origin(head)) {
      return Error{Code::kPermissionDenied, "cross_origin",
                   "a page of another origin may not use this service in your name", 0};
    }
    return link;
  }
  return error;
}

asio::awaitable<void> Gateway::serve_host(ExchangePtr exchange) {
  const auto place = place_of_host(exchange->head().host, config_.names);
  if (!place) {
    auto response =
        told(404, "no_such_service",
             "No service has this name: services are SANDBOX_ID--PORT." + config_.names.domain);
    co_await exchange->respond(std::move(response));
    co_return;
  }
  if (place->port != 0) {
    co_await serve_service(std::move(exchange), *place);
    co_return;
  }
  const auto& segments = exchange->head().segments;
  const std::string token = segments.size() == 1 ? segments.front() : "";
  co_await serve_file(std::move(exchange), place->sandbox, token);
}

asio::awaitable<void> Gateway::serve_service(ExchangePtr exchange, ServicePlace place) {
  const auto& head = exchange->head();
  const std::string path = path_of(head);
  if (path == kLogIn) {
    co_await log_in(std::move(exchange), place);
    co_return;
  }
  if (path.starts_with(kOwnPaths)) {
    auto response = told(404, "no_such_route", "There is nothing at this path.");
    co_await exchange->respond(std::move(response));
    co_return;
  }
  auto link = link_of(head, place, true);
  if (!link) {
    auto response = refusal(link.error());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  if (auto in = exchange->let_in(caller_of(link->link)); !in) {
    auto response = refusal(in.error());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  const std::string target = head.target;
  co_await pass(std::move(exchange), *std::move(link), place, false, target);
}

asio::awaitable<void> Gateway::log_in(ExchangePtr exchange, ServicePlace place) {
  const auto& head = exchange->head();
  if (head.method != "GET") {
    auto response = told(405, "method_not_allowed", "This address is for a browser's GET.");
    response.headers.add("Allow", "GET");
    co_await exchange->respond(std::move(response));
    co_return;
  }
  if (!is_trustworthy(head)) {
    auto response = told(403, "login_needs_tls", std::string(kLogInNeedsTls) + ".");
    co_await exchange->respond(std::move(response));
    co_return;
  }
  const std::string token(head.query.get("token").value_or(""));
  auto link = use(token, place);
  if (!link) {
    auto response = refusal(link.error());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  if (auto in = exchange->let_in(caller_of(link->link)); !in) {
    auto response = refusal(in.error());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  const std::int64_t left = std::max<std::int64_t>(1, link->link.spec.lifetime_s.value_or(1));
  http::Response response = told(303, "", "Go on at /");
  response.headers.add("Location", "/");
  // For as long as the link may live; that it does not is checked at each request.
  response.headers.add("Set-Cookie",
                       cookie_name(head.scheme) + "=" + token +
                           "; Path=/; HttpOnly; SameSite=Lax; Max-Age=" + std::to_string(left) +
                           (head.scheme == "https" ? "; Secure" : ""));
  co_await exchange->respond(std::move(response));
}

asio::awaitable<void> Gateway::serve_service_path(ExchangePtr exchange) {
  const auto& head = exchange->head();
  const std::string& written = exchange->params().at("port");
  const auto mark = written.find(kTokenMark);
  const std::string token = mark == std::string::npos ? "" : written.substr(mark);
  const auto place = place_of(exchange->params().at("sandbox"), written.substr(0, mark));
  const std::string prefix =
      place ? "/svc/" + place->sandbox.get() + "/" + std::to_string(place->port) + token : "";
  // As it was written, not as it is decoded: what follows is passed on byte for byte.
  const bool plain = place && head.target.starts_with(prefix) &&
                     (head.target.size() == prefix.size() || head.target[prefix.size()] == '/' ||
                      head.target[prefix.size()] == '?');
  if (!plain) {
    auto response = told(404, "no_such_service",
                         "No service has this name: services are /svc/SANDBOX_ID/PORT/.");
    co_await exchange->respond(std::move(response));
    co_return;
  }
  std::string target = head.target.substr(prefix.size());
  if (target.empty() || target.front() == '?') target.insert(0, "/");
  if (target.starts_with(kLogIn)) {
    auto response = told(501, "no_service_domain",
                         "Browsers need a host of their own for each service: open it from this "
                         "machine, or start the daemon with --service-domain.");
    co_await exchange->respond(std::move(response));
    co_return;
  }
  // No cookie opens it, and no script of it may take over this origin.
  auto link =
      token.empty() ? link_of(head, *place, false) : use(std::string_view(token).substr(1), *place);
  if (link && head.headers.get("Service-Worker")) {
    link = Error{Code::kPermissionDenied, "cross_origin",
                 "no service worker is given out under this origin", 0};
  }
  if (!link) {
    auto response = refusal(link.error());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  if (auto in = exchange->let_in(caller_of(link->link)); !in) {
    auto response = refusal(in.error());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  co_await pass(std::move(exchange), *std::move(link), *place, true, std::move(target));
}

asio::awaitable<void> Gateway::pass(ExchangePtr exchange, core::OpenLink link, ServicePlace place,
                                    bool by_path, std::string target) {
  ServiceRoute route{place, by_path ? ServiceForm::kPath : ServiceForm::kHost, std::move(target)};
  auto passing = pass_to_service(cay_, kept_, exchange, std::move(link), std::move(route),
                                 config_.is_key, ending_);
  auto passed = co_await std::move(passing);
  if (passed) co_return;
  note_error(passed.error());
  auto response = unreachable(passed.error());
  co_await exchange->respond(std::move(response));
}

asio::awaitable<void> Gateway::serve_file_path(ExchangePtr exchange) {
  const std::string sandbox = exchange->params().at("sandbox");
  const std::string token = exchange->params().at("token");
  co_await serve_file(std::move(exchange), SandboxId(sandbox), token);
}

asio::awaitable<void> Gateway::serve_file(ExchangePtr exchange, SandboxId sandbox,
                                          std::string token) {
  if (exchange->head().method != "GET" && exchange->head().method != "HEAD") {
    auto response = told(405, "method_not_allowed", "A download link takes GET and HEAD.");
    response.headers.add("Allow", "GET, HEAD");
    co_await exchange->respond(std::move(response));
    co_return;
  }
  const ServicePlace place{std::move(sandbox), 0};
  auto link = use(token, place);
  if (!link) {
    const bool expired = link.error().reason == "link_expired";
    auto response =
        told(403, link.error().reason,
             expired ? "This download link has expired."
                     : "This download link is not good: it is wrong, or was withdrawn.");
    co_await exchange->respond(std::move(response));
    co_return;
  }
  if (auto in = exchange->let_in(caller_of(link->link)); !in) {
    auto response = refusal(in.error());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  auto served = co_await serve_download(cay_, exchange, *std::move(link));
  if (served) co_return;
  note_error(served.error());
  auto response = file_refusal(served.error());
  co_await exchange->respond(std::move(response));
}

}  // namespace cay::api
