#include "api/langsmith/boxes.h"

#include "api/common/audit_subjects.h"
#include "api/common/request_body.h"
#include "api/common/subjects.h"
#include "api/langsmith/boxes_json.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/list_query.h"
#include "base/wiped_memory.h"
#include "codec/wiped_json.h"
#include "core/verbs/image_registries.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/usage.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

constexpr std::size_t kMaxBody = 1 << 20;

http::Response refused(const ListRefusal& refusal) {
  return envelope(refusal.status, "InvalidRequest", refusal.message, new_uuid());
}

std::string name_of(const ExchangePtr& exchange) { return exchange->params().at("name"); }

// A body with settings that may name secrets in clear (proxy_config), which are refused: they are
// found nowhere after that.
Task<json::object> wiped_object_in(ExchangePtr exchange) {
  CAY_CO_TRY(std::string text, co_await read_request_body(exchange, kMaxBody));
  const Wiped body(std::move(text));
  auto object = codec::parse_wiped_object(body.view(), codec::Empty::kIsObject);
  co_return object;
}

}  // namespace

Task<http::Response> create_box(core::Cay& cay, Limits maximum, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await wiped_object_in(exchange));
  codec::Fields fields(in);
  auto asked = read_create_box(fields, maximum);
  if (!fields.ok()) co_return validation_error(fields);
  if (!asked) {
    if (asked.error().code != Code::kInvalidArgument) co_return std::move(asked).error();
    co_return envelope(400, "InvalidRequest", asked.error().message, new_uuid());
  }
  const std::string settings = settings_subject(asked->spec);
  exchange->note_subject(creation_subject(asked->spec.name, settings));
  auto work = cay.sandboxes().create(exchange->principal(), std::move(asked->spec), asked->options);
  CAY_CO_TRY(const Sandbox made, co_await std::move(work));
  exchange->note_subject(creation_subject(made.name, settings));
  co_return json_answer(201, box_json(made, base_url(exchange->head())));
}

Task<http::Response> list_boxes(core::Cay& cay, ExchangePtr exchange) {
  auto asked = read_list_query(exchange->head().query, exchange->principal());
  if (const auto* refusal = std::get_if<ListRefusal>(&asked)) co_return refused(*refusal);
  const auto& list = std::get<ListQuery>(asked);
  CAY_CO_TRY(const SandboxPage page,
             co_await cay.sandboxes().list(exchange->principal(), list.query));
  json::array items;
  const std::string base = base_url(exchange->head());
  for (const auto& sandbox : page.items) items.emplace_back(box_json(sandbox, base));
  co_return json_answer(200, page_json("sandboxes", std::move(items), page.more, list));
}

Task<http::Response> get_box(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox,
             co_await cay.sandboxes().get(exchange->principal(), name_of(exchange)));
  co_return json_answer(200, box_json(sandbox, base_url(exchange->head())));
}

Task<http::Response> patch_box(core::Cay& cay, Limits maximum, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await wiped_object_in(exchange));
  codec::Fields fields(in);
  auto patch = read_patch_box(fields, maximum);
  if (!fields.ok()) co_return validation_error(fields);
  if (!patch) co_return std::move(patch).error();
  exchange->note_subject(changes_subject(*patch));
  auto work = cay.sandboxes().update(exchange->principal(), name_of(exchange), *std::move(patch));
  CAY_CO_TRY(const Sandbox sandbox, co_await std::move(work));
  co_return json_answer(200, box_json(sandbox, base_url(exchange->head())));
}

Task<http::Response> delete_box(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_CHECK(co_await cay.sandboxes().remove(exchange->principal(), name_of(exchange)));
  co_return empty_answer(204);
}

Task<http::Response> box_status(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox,
             co_await cay.sandboxes().get(exchange->principal(), name_of(exchange)));
  const json::object out{{"status", status_text(sandbox)},
                         {"status_message", status_message(sandbox)}};
  co_return json_answer(200, out);
}

Task<http::Response> start_box(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox,
             co_await cay.sandboxes().start(exchange->principal(), name_of(exchange)));
  const int status = sandbox.state == SandboxState::kReady ? 200 : 202;
  co_return json_answer(status, box_json(sandbox, base_url(exchange->head())));
}

Task<http::Response> stop_box(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_CHECK(co_await cay.sandboxes().stop(exchange->principal(), name_of(exchange)));
  co_return empty_answer(204);
}

Task<http::Response> delete_boxes(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxBody));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  codec::Fields fields(in);
  std::vector<std::string> names;
  if (!fields.read("names", names, 500))
    fields.complain("names", "is needed: a list of at most 500 names");
  if (!fields.ok()) co_return validation_error(fields);
  json::array deleted, skipped;
  Subjects subjects("deleted");
  for (const auto& name : names) {
    auto removed = co_await cay.sandboxes().remove(exchange->principal(), name);
    if (removed) {
      deleted.emplace_back(codec::text(name));
      subjects.add(name);
      exchange->note_subject(
          subjects.text());  // whoever leaves before the last has deleted these all the same
    } else {
      skipped.emplace_back(json::object{{"name", codec::text(name)},
                                        {"reason", codec::text(removed.error().message)}});
    }
  }
  exchange->note_subject(subjects.text());  // none, it may be
  co_return json_answer(
      200, json::object{{"deleted", std::move(deleted)}, {"skipped", std::move(skipped)}});
}

Task<http::Response> usage(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const UsageSummary use, co_await cay.usage().summary(exchange->principal()));
  CAY_CO_TRY(const auto registries, co_await cay.image_registries().list(exchange->principal()));
  co_return json_answer(200, json::object{{"cpu_limit_millicores", use.cpu_limit_millicores},
                                          {"cpu_used_millicores", use.cpu_used_millicores},
                                          {"memory_limit_bytes", use.memory_limit_bytes},
                                          {"memory_used_bytes", use.memory_used_bytes},
                                          {"sandboxes_limit", use.sandboxes_limit},
                                          {"sandboxes_used", use.running + use.stopped},
                                          {"sandbox_running_count", use.running},
                                          {"sandbox_stopped_count", use.stopped},
                                          {"sandbox_direct_count", use.running + use.stopped},
                                          {"sandbox_pool_replicas_count", 0},
                                          {"snapshots_count", use.snapshots},
                                          {"registries_count", registries.size()},
                                          {"pools_count", 0},
                                          {"templates_count", 0}});
}

}  // namespace cay::api::langsmith
