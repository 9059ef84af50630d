#include "api/langsmith/links.h"

#include "api/common/audit_subjects.h"
#include "api/common/request_body.h"
#include "api/langsmith/errors.h"
#include "codec/fields.h"
#include "codec/time.h"
#include "core/verbs/links.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

constexpr std::size_t kMaxBody = 1 << 20;
constexpr std::int64_t kDefaultLifetime = 600;
constexpr std::int64_t kLongestService = 86'400;
constexpr std::int64_t kLongestFile = std::int64_t{36'500} * 86'400;

}  // namespace

Task<http::Response> service_url(core::Cay& cay, ServiceNames names, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxBody));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  codec::Fields fields(in);
  std::int64_t port = 0;
  std::int64_t lifetime = kDefaultLifetime;
  std::string access;
  if (!fields.read("port", port, 1, 65535) && fields.ok()) fields.complain("port", "is needed");
  fields.read("expires_in_seconds", lifetime, 1, kLongestService);
  if (fields.read("access", access) && access != "off" && access != "restricted" &&
      access != "workspace") {
    fields.complain("access", "must be restricted, workspace or off");
  }
  const auto* embedded = fields.array("embed_origins");
  if (!fields.ok()) co_return validation_error(fields);
  const std::string ref = exchange->params().at("name");
  LinkSpec spec;
  spec.port = static_cast<std::uint16_t>(port);
  spec.lifetime_s = lifetime;
  if (access == "off") {
    const std::string which = " links of port " + std::to_string(spec.port);
    exchange->note_subject("all" + which);
    CAY_CO_TRY(const auto count,
               co_await cay.links().withdraw_all(exchange->principal(), ref, spec.port));
    exchange->note_subject("withdrew " + std::to_string(count) + which);
    co_return json_answer(200, json::object{{"access", "off"}});
  }
  if (!access.empty())
    co_return unsupported(
        "a service URL that requires a login (access; Cay has no users: without it the URL's token "
        "lets in whoever has it)");
  if (embedded != nullptr && !embedded->empty())
    co_return unsupported("a service URL for frames of other origins (embed_origins)");
  const std::string asked = link_subject(spec);
  exchange->note_subject("link " + asked);
  CAY_CO_TRY(const auto made,
             co_await cay.links().issue(exchange->principal(), ref, std::move(spec)));
  exchange->note_subject("link " + made.link.id.get() + " " + asked);
  const ServicePlace place{made.link.sandbox, made.link.spec.port};
  const ServiceUrls urls = service_urls(names, exchange->head(), place, made.token);
  json::object out{
      {"service_url", urls.base}, {"browser_url", urls.browser}, {"token", made.token}};
  // These clients need some address: this one answers with what is missing.
  if (urls.browser.empty()) out["browser_url"] = urls.base + "/_svc/auth";
  out["expires_at"] = codec::rfc3339(made.link.expires_at.value_or(0));
  co_return json_answer(200, out);
}

Task<http::Response> file_url(core::Cay& cay, ServiceNames names, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxBody));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  codec::Fields fields(in);
  LinkSpec spec;
  spec.workdir = "/home/user";  // where the facade's relative paths begin
  std::int64_t lifetime = 0;
  std::string disposition = "attachment";
  if (!fields.read("path", spec.path) || spec.path.empty()) fields.complain("path", "is needed");
  if (fields.read("expires_in_seconds", lifetime, 1, kLongestFile)) spec.lifetime_s = lifetime;
  fields.read("content_type", spec.content_type);
  fields.read("content_disposition", disposition);
  spec.inline_shown = disposition == "inline";
  if (!spec.inline_shown && disposition != "attachment")
    fields.complain("content_disposition", "must be attachment or inline");
  if (!fields.ok()) co_return validation_error(fields);
  const std::string asked = link_subject(spec);
  exchange->note_subject("link " + asked);
  CAY_CO_TRY(const auto made,
             co_await cay.links().issue(exchange->principal(), exchange->params().at("name"),
                                        std::move(spec)));
  exchange->note_subject("link " + made.link.id.get() + " " + asked);
  json::object out{
      {"download_url", download_url(names, exchange->head(), made.link.sandbox, made.token)},
      {"token", made.token},
      {"expires_at", nullptr}};
  if (made.link.expires_at) out["expires_at"] = codec::rfc3339(*made.link.expires_at);
  co_return json_answer(200, out);
}

}  // namespace cay::api::langsmith
