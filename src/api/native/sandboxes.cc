// Routes about sandboxes as a whole.
#include "api/common/audit_subjects.h"
#include "api/common/cursor.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "core/verbs/claims.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

Result<SandboxSort> sort_from(std::string_view text) {
  if (text == "created_at") return SandboxSort::kCreatedAt;
  if (text == "name") return SandboxSort::kName;
  if (text == "state") return SandboxSort::kState;
  if (text == "stopped_at") return SandboxSort::kStoppedAt;
  if (text == "idle_ttl_s") return SandboxSort::kIdleTtl;
  if (text == "delete_after_stop_s") return SandboxSort::kDeleteAfterStop;
  return invalid("invalid_query",
                 "sort= must be created_at, name, state, stopped_at, idle_ttl_s or "
                 "delete_after_stop_s, with a "
                 "leading '-' for descending");
}

// The filters and the order, for binding a cursor to them.
std::string spelled(http::Exchange& exchange) {
  std::string out;
  for (const auto& [name, value] : exchange.head().query.items()) {
    if (name != "cursor" && name != "limit") out += name + "=" + value + "&";
  }
  return out;
}

Result<SandboxQuery> query_of(http::Exchange& exchange) {
  constexpr std::uint64_t kDefaultPage = 100;
  constexpr std::uint64_t kLargestPage = 500;
  const http::Query& in = exchange.head().query;
  SandboxQuery out;
  for (const std::string_view label : in.all("label")) {
    CAY_TRY(auto filter, label_filter(label));
    out.labels.push_back(std::move(filter));
  }
  if (const auto state = in.get("state")) {
    out.state = sandbox_state_from(*state);
    if (!out.state)
      return invalid("invalid_query",
                     "state= must be provisioning, ready, stopped, failed, deleting or paused");
  }
  out.name_contains = in.get("name_contains").value_or("");
  out.created_by = in.get("created_by").value_or("");
  out.claim = in.get("claim").value_or("");
  std::string_view sort = in.get("sort").value_or("-created_at");
  out.descending = sort.starts_with('-');
  if (out.descending) sort.remove_prefix(1);
  CAY_TRY(out.sort, sort_from(sort));
  CAY_TRY(const std::uint64_t limit,
          query_number(exchange, "limit", kDefaultPage, 1, kLargestPage));
  out.limit = static_cast<std::uint32_t>(limit);
  if (const auto cursor = in.get("cursor")) {
    const auto offset = offset_of_cursor(*cursor, spelled(exchange));
    if (!offset)
      return invalid("invalid_query", "cursor= is not one of this list with these filters");
    out.offset = *offset;
  }
  return out;
}

}  // namespace

namespace {

core::CreateOptions options_of(const codec::CreateRequest& request) {
  core::CreateOptions options;
  options.wait_for_ready = request.wait;
  options.timeout = std::chrono::milliseconds(request.timeout_ms);
  return options;
}

}  // namespace

Task<http::Response> create_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  auto request = codec::read_create(*body);
  if (!request) co_return std::move(request).error();
  const std::string settings = settings_subject(request->spec);
  exchange->note_subject(creation_subject(request->spec.name, settings));
  const auto options = options_of(*request);
  auto made =
      co_await cay.sandboxes().create(exchange->principal(), std::move(request->spec), options);
  if (!made) co_return std::move(made).error();
  exchange->note_subject(creation_subject(made->name, settings));
  co_return json_answer(201, codec::to_json(*made));
}

Task<http::Response> ensure_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  auto request = codec::read_ensure(*body);
  if (!request) co_return std::move(request).error();
  const std::string settings = settings_subject(request->spec);
  exchange->note_subject(creation_subject(request->spec.name, settings));
  const auto options = options_of(*request);
  std::string claim = std::move(request->spec.claim);
  auto ensured = co_await cay.claims().ensure(exchange->principal(), std::move(request->spec),
                                              std::move(claim), options);
  if (!ensured) co_return std::move(ensured).error();
  const auto& [sandbox, created] = *ensured;
  exchange->note_subject(created ? creation_subject(sandbox.name, settings)
                                 : "found: sandbox " + sandbox.name);
  object out = codec::to_json(sandbox);
  out["created"] = created;
  co_return json_answer(created ? 201 : 200, out);
}

Task<http::Response> list_sandboxes(core::Cay& cay, ExchangePtr exchange) {
  auto query = query_of(*exchange);
  if (!query) co_return std::move(query).error();
  auto page = co_await cay.sandboxes().list(exchange->principal(), *query);
  if (!page) co_return std::move(page).error();
  array items;
  for (const Sandbox& sandbox : page->items) items.emplace_back(codec::to_json(sandbox));
  object out{{"items", std::move(items)}, {"next_cursor", nullptr}};
  if (page->more) {
    const auto next = query->offset + static_cast<std::uint32_t>(page->items.size());
    out["next_cursor"] = cursor_at(next, spelled(*exchange));
  }
  co_return json_answer(200, out);
}

Task<http::Response> get_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.sandboxes().get(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> update_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  auto patch = codec::read_patch(*body);
  if (!patch) co_return std::move(patch).error();
  exchange->note_subject(changes_subject(*patch));
  auto got = co_await cay.sandboxes().update(exchange->principal(), param(*exchange, "ref"),
                                             *std::move(patch));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> delete_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto gone = co_await cay.sandboxes().remove(exchange->principal(), param(*exchange, "ref"));
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

Task<http::Response> start_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.sandboxes().start(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(got->state == SandboxState::kReady ? 200 : 202, codec::to_json(*got));
}

Task<http::Response> stop_sandbox(core::Cay& cay, ExchangePtr exchange) {
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  auto stopped = co_await cay.sandboxes().stop(who, ref);
  if (!stopped) co_return std::move(stopped).error();
  auto got = co_await cay.sandboxes().get(who, ref);
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> pause_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.sandboxes().pause(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> resume_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.sandboxes().resume(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

}  // namespace cay::api::native
