#include "api/langsmith/registries.h"

#include <algorithm>

#include "api/common/request_body.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/list_query.h"
#include "base/wiped_memory.h"
#include "codec/time.h"
#include "codec/wiped_json.h"
#include "core/verbs/image_registries.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostRegistryBody = 256 * 1024;

std::string registry_named(const ExchangePtr& exchange) { return exchange->params().at("name"); }

Task<json::object> registry_body(ExchangePtr exchange) {
  CAY_CO_TRY(std::string text, co_await read_request_body(exchange, kMostRegistryBody));
  const Wiped body(std::move(text));
  co_return codec::parse_wiped_object(body.view());
}

json::object registry_json(const ImageRegistry& registry) {
  return {{"id", registry.id.get()},
          {"name", codec::text(registry.name)},
          {"url", codec::text(registry.url)},
          {"auth_type", "DOCKER_CONFIG"},
          {"created_at", codec::rfc3339(registry.created_at)},
          {"created_by", codec::text(registry.created_by)},
          {"updated_at", codec::rfc3339(registry.updated_at)},
          {"updated_by", codec::text(registry.updated_by)}};
}

// A role of a cloud is a login that this host cannot make.
void refuse_roles(codec::Fields& fields) {
  std::string type;
  if (fields.read("auth_type", type) && !type.empty() && type != "DOCKER_CONFIG")
    fields.complain("auth_type", "Cay logs in with a user name and a password: DOCKER_CONFIG");
  if (fields.read("aws_role_arn", type) && !type.empty())
    fields.complain("aws_role_arn", "Cay logs in with a user name and a password: leave it out");
}

bool comes_first(const ImageRegistry& a, const ImageRegistry& b, const SandboxQuery& query) {
  if (query.sort == SandboxSort::kName) return a.name < b.name;
  return std::pair(a.created_at, a.id) < std::pair(b.created_at, b.id);
}

}  // namespace

Task<http::Response> create_registry(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await registry_body(exchange));
  codec::Fields fields(in);
  NewImageRegistry made;
  if (!fields.read("name", made.name) || made.name.empty()) fields.complain("name", "is needed");
  if (!fields.read("url", made.url) || made.url.empty())
    fields.complain("url", "is needed: the registry's host, such as registry.example.com");
  fields.read("username", made.username);
  fields.read("password", made.password);
  refuse_roles(fields);
  if (!fields.ok()) co_return validation_error(fields);
  exchange->note_subject("registry " + made.name + " at " + made.url);
  auto making = cay.image_registries().create(exchange->principal(), std::move(made));
  CAY_CO_TRY(const ImageRegistry registry, co_await std::move(making));
  co_return json_answer(201, registry_json(registry));
}

Task<http::Response> list_registries(core::Cay& cay, ExchangePtr exchange) {
  auto asked = read_list_query(exchange->head().query, exchange->principal());
  if (const auto* refusal = std::get_if<ListRefusal>(&asked))
    co_return envelope(refusal->status, "InvalidRequest", refusal->message, new_uuid());
  const auto& list = std::get<ListQuery>(asked);
  CAY_CO_TRY(auto all, co_await cay.image_registries().list(exchange->principal()));
  std::erase_if(all, [&](const ImageRegistry& one) {
    return one.name.find(list.query.name_contains) == std::string::npos ||
           (!list.query.created_by.empty() && one.created_by != list.query.created_by);
  });
  std::ranges::sort(all, [&](const ImageRegistry& a, const ImageRegistry& b) {
    return list.query.descending ? comes_first(b, a, list.query) : comes_first(a, b, list.query);
  });
  const std::size_t begin = std::min<std::size_t>(list.query.offset, all.size());
  const std::size_t end = std::min<std::size_t>(begin + list.query.limit, all.size());
  json::array items;
  for (std::size_t i = begin; i < end; ++i) items.emplace_back(registry_json(all[i]));
  co_return json_answer(200, page_json("registries", std::move(items), end < all.size(), list));
}

Task<http::Response> get_registry(core::Cay& cay, ExchangePtr exchange) {
  auto finding = cay.image_registries().get(exchange->principal(), registry_named(exchange));
  CAY_CO_TRY(const ImageRegistry registry, co_await std::move(finding));
  co_return json_answer(200, registry_json(registry));
}

Task<http::Response> patch_registry(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await registry_body(exchange));
  codec::Fields fields(in);
  ImageRegistryChange change;
  std::string changed;
  const auto read = [&](const char* name, std::optional<std::string>& out) {
    std::string text;
    if (!fields.read(name, text)) return;
    changed += (changed.empty() ? "" : ", ") + std::string(name);
    out = std::move(text);
  };
  read("name", change.name);
  read("url", change.url);
  read("username", change.username);
  read("password", change.password);
  refuse_roles(fields);
  if (!fields.ok()) co_return validation_error(fields);
  exchange->note_subject("registry " + registry_named(exchange) + ": " + changed);
  auto changing = cay.image_registries().update(exchange->principal(), registry_named(exchange),
                                                std::move(change));
  CAY_CO_TRY(const ImageRegistry registry, co_await std::move(changing));
  co_return json_answer(200, registry_json(registry));
}

Task<http::Response> delete_registry(core::Cay& cay, ExchangePtr exchange) {
  exchange->note_subject("registry " + registry_named(exchange));
  CAY_CO_CHECK(
      co_await cay.image_registries().remove(exchange->principal(), registry_named(exchange)));
  co_return empty_answer(204);
}

}  // namespace cay::api::langsmith
