// Routes about links: rights to one service or one file.
#include <limits>

#include "api/common/audit_subjects.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/time.h"
#include "core/verbs/links.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

constexpr std::int64_t kServiceLifetime = 3600;
constexpr std::int64_t kFileLifetime =
    86'400;  // its token stands in the URL, and so in histories and logs
constexpr std::int64_t kUntilWithdrawn = 0;  // a file's, if the request has it explicitly

object to_json(const Link& link, const std::string& url) {
  object out{{"id", link.id.get()},
             {"kind", link.spec.is_service() ? "service" : "file"},
             {"sandbox_id", link.sandbox.get()},
             {"url", url},
             {"created_at", codec::rfc3339(link.created_at)},
             {"expires_at", nullptr},
             {"created_by", codec::text(link.created_by)}};
  if (link.expires_at) out["expires_at"] = codec::rfc3339(*link.expires_at);
  if (link.spec.is_service()) {
    out["port"] = link.spec.port;
    return out;
  }
  out["path"] = codec::text(link.spec.path);
  out["user"] = codec::text(link.spec.user);
  out["content_type"] = codec::text(link.spec.content_type);
  out["inline"] = link.spec.inline_shown;
  return out;
}

Result<LinkSpec> spec_of(const object& body) {
  codec::Fields fields(body);
  LinkSpec spec;
  std::int64_t port = 0;
  const bool service = fields.read("port", port, 1, 65535);
  spec.port = static_cast<std::uint16_t>(port);
  const bool file = fields.read("path", spec.path);
  if (fields.ok() && service == file)
    fields.complain("", "give either port, for a service, or path, for a file");
  if (file) {
    fields.read("user", spec.user);
    fields.read("content_type", spec.content_type);
    fields.read("inline", spec.inline_shown);
  }
  std::int64_t lifetime = service ? kServiceLifetime : kFileLifetime;
  using Any = std::numeric_limits<std::int64_t>;  // the core has the limits
  fields.read("expires_in_s", lifetime, Any::min(), Any::max());
  if (service || lifetime != kUntilWithdrawn) spec.lifetime_s = lifetime;
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return spec;
}

}  // namespace

Task<http::Response> issue_link(core::Cay& cay, ServiceNames names, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  auto spec = spec_of(*body);
  if (!spec) co_return std::move(spec).error();
  const std::string asked = link_subject(*spec);
  exchange->note_subject("link " + asked);
  auto made =
      co_await cay.links().issue(exchange->principal(), param(*exchange, "ref"), *std::move(spec));
  if (!made) co_return std::move(made).error();
  const Link& link = made->link;
  exchange->note_subject("link " + link.id.get() + " " +
                         asked);  // whoever uses it is written down by this id
  const http::RequestHead& head = exchange->head();
  if (!link.spec.is_service()) {
    object out = to_json(link, download_url(names, head, link.sandbox, made->token));
    out["token"] = made->token;
    co_return json_answer(201, out);
  }
  const ServiceUrls urls =
      service_urls(names, head, ServicePlace{link.sandbox, link.spec.port}, made->token);
  object out = to_json(link, urls.base);
  out["token"] = made->token;
  out["browser_url"] = nullptr;
  if (!urls.browser.empty()) out["browser_url"] = urls.browser;
  co_return json_answer(201, out);
}

// Without tokens: nobody can see them again.
Task<http::Response> list_links(core::Cay& cay, ServiceNames names, ExchangePtr exchange) {
  auto got = co_await cay.links().list(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  array items;
  for (const Link& link : *got) {
    const ServicePlace place{link.sandbox, link.spec.port};
    const std::string url =
        link.spec.is_service() ? service_urls(names, exchange->head(), place, "").base : "";
    items.emplace_back(to_json(link, url));
  }
  co_return json_answer(200, object{{"items", std::move(items)}});
}

Task<http::Response> withdraw_link(core::Cay& cay, ExchangePtr exchange) {
  auto done = co_await cay.links().withdraw(exchange->principal(), param(*exchange, "ref"),
                                            LinkId(param(*exchange, "id")));
  if (!done) co_return std::move(done).error();
  co_return empty_answer(204);
}

Task<http::Response> withdraw_links(core::Cay& cay, ExchangePtr exchange) {
  std::optional<std::uint16_t> only;
  if (exchange->head().query.get("port")) {
    auto port = query_number(*exchange, "port", 0, 1, 65535);
    if (!port) co_return std::move(port).error();
    only = static_cast<std::uint16_t>(*port);
  }
  const std::string which = only ? "links of port " + std::to_string(*only) : "links";
  exchange->note_subject("all " + which);
  auto count =
      co_await cay.links().withdraw_all(exchange->principal(), param(*exchange, "ref"), only);
  if (!count) co_return std::move(count).error();
  exchange->note_subject("withdrew " + std::to_string(*count) + " " + which);
  co_return json_answer(200, object{{"withdrawn", *count}});
}

}  // namespace cay::api::native
