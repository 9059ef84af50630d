#include "api/daytona/previews.h"

#include <charconv>
#include <utility>

#include "api/common/audit_subjects.h"
#include "api/common/service_names.h"
#include "api/daytona/lookup.h"
#include "api/daytona/notes.h"
#include "core/verbs/links.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::int64_t kPreviewSeconds = 86'400;  // of a token that a client gets without an end
constexpr std::int64_t kSignedSeconds = 60;
constexpr std::int64_t kMostSignedSeconds = 86'400;

Result<std::uint16_t> port_of(const ExchangePtr& exchange) {
  const std::string& text = exchange->params().at("port");
  std::uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure == std::errc() && end == text.data() + text.size() && port != 0) return port;
  return invalid("invalid_port", "a port is a number from 1 to 65535");
}

Result<std::int64_t> seconds_of(const ExchangePtr& exchange) {
  const auto text = exchange->head().query.get("expiresInSeconds");
  if (!text || text->empty()) return kSignedSeconds;
  std::int64_t seconds = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (failure == std::errc() && end == text->data() + text->size() && seconds >= 1 &&
      seconds <= kMostSignedSeconds)
    return seconds;
  return invalid("invalid_expiry", "expiresInSeconds must be 1 to 86400");
}

Task<core::IssuedLink> issued(std::shared_ptr<Control> control, ExchangePtr exchange,
                              std::string id, std::uint16_t port, std::int64_t seconds) {
  LinkSpec spec;
  spec.port = port;
  spec.lifetime_s = seconds;
  exchange->note_subject(link_subject(spec));
  auto link =
      co_await control->cay.links().issue(exchange->principal(), std::move(id), std::move(spec));
  co_return link;
}

// A URL that opens the port by itself: whoever has it is let in.
std::string opening_url(const Control& control, const ExchangePtr& exchange,
                        const ServicePlace& place, const std::string& token) {
  const auto& head = exchange->head();
  const auto urls = service_urls(control.config.names, head, place, token);
  if (!urls.browser.empty() && !control.config.names.local) return urls.browser;
  // No name leads programs there, so the path of the daemon's own host does.
  return head.scheme + "://" + head.host + "/svc/" + place.sandbox.get() + "/" +
         std::to_string(place.port) + kTokenMark + token;
}

}  // namespace

Task<http::Response> preview_url(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::uint16_t port, port_of(exchange));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  CAY_CO_TRY(const core::IssuedLink link,
             co_await issued(control, exchange, sandbox.id.get(), port, kPreviewSeconds));
  const ServicePlace place{sandbox.id, port};
  const bool is_public = !note_of(sandbox, kPublicNote).empty();
  const std::string url =
      is_public ? opening_url(*control, exchange, place, link.token)
                : service_urls(control->config.names, exchange->head(), place, link.token).base;
  co_return json_answer(200, json::object{{"sandboxId", sandbox.id.get()},
                                          {"url", codec::text(url)},
                                          {"token", codec::text(link.token)}});
}

Task<http::Response> signed_preview_url(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::uint16_t port, port_of(exchange));
  CAY_CO_TRY(const std::int64_t seconds, seconds_of(exchange));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  CAY_CO_TRY(const core::IssuedLink link,
             co_await issued(control, exchange, sandbox.id.get(), port, seconds));
  const std::string url = opening_url(*control, exchange, {sandbox.id, port}, link.token);
  co_return json_answer(200, json::object{{"sandboxId", sandbox.id.get()},
                                          {"port", port},
                                          {"token", codec::text(link.token)},
                                          {"url", codec::text(url)}});
}

Task<http::Response> expire_signed_preview_url(std::shared_ptr<Control> control,
                                               ExchangePtr exchange) {
  CAY_CO_TRY(const std::uint16_t port, port_of(exchange));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  const std::string token = exchange->params().at("token");
  const Error unknown{Code::kNotFound, "link_not_found", "Signed preview URL not found", 0};
  const auto read = read_link_token(token);
  if (!read) co_return unknown;
  // The whole token counts: its id alone is in logs.
  auto open = control->cay.links().use(token, sandbox.id, port);
  if (!open) co_return unknown;
  CAY_CO_CHECK(
      co_await control->cay.links().withdraw(exchange->principal(), sandbox.id.get(), read->id));
  co_return empty_answer(200);
}

}  // namespace cay::api::daytona
