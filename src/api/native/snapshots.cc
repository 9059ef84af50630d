// Routes about snapshots, and about copies of sandboxes. Long work is answered at once, or at its
// end within ?wait=SECONDS.
#include "api/common/request_body.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "base/wiped_memory.h"
#include "codec/model_json.h"
#include "codec/snapshot_json.h"
#include "codec/wiped_json.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/snapshots.h"

namespace cay::api::native {
namespace {

using codec::json::array;
using codec::json::object;

constexpr std::uint64_t kLongestSnapshotWait = 3600;

Result<std::chrono::seconds> snapshot_wait(http::Exchange& exchange) {
  CAY_TRY(const std::uint64_t seconds, query_number(exchange, "wait", 0, 0, kLongestSnapshotWait));
  return std::chrono::seconds(seconds);
}

// A body that may hold a registry's password, which is found nowhere after this.
Task<object> login_body(ExchangePtr exchange) {
  CAY_CO_TRY(std::string text, co_await read_request_body(exchange, kBodyLimit));
  const Wiped body(std::move(text));
  co_return codec::parse_wiped_object(body.view());
}

// Waits for a snapshot within the request's limit.
Task<http::Response> made_answer(core::Cay& cay, ExchangePtr exchange, SnapshotInfo made) {
  auto patience = snapshot_wait(*exchange);
  if (!patience) co_return std::move(patience).error();
  if (patience->count() > 0) {
    auto waiting = cay.snapshots().wait(exchange->principal(), made.id, *patience);
    auto now = co_await std::move(waiting);
    if (!now) co_return std::move(now).error();
    made = *std::move(now);
  }
  co_return json_answer(201, codec::to_json(made));
}

}  // namespace

Task<http::Response> list_snapshots(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.snapshots().list(exchange->principal());
  if (!got) co_return std::move(got).error();
  array items;
  for (const SnapshotInfo& snapshot : *got) items.emplace_back(codec::to_json(snapshot));
  co_return json_answer(200, object{{"items", std::move(items)}});
}

Task<http::Response> get_snapshot(core::Cay& cay, ExchangePtr exchange) {
  auto patience = snapshot_wait(*exchange);
  if (!patience) co_return std::move(patience).error();
  auto got = co_await cay.snapshots().get(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  if (patience->count() > 0) {
    auto waiting = cay.snapshots().wait(exchange->principal(), got->id, *patience);
    got = co_await std::move(waiting);
    if (!got) co_return std::move(got).error();
  }
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> create_snapshot(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_CHECK(snapshot_wait(*exchange));
  auto body = co_await login_body(exchange);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  ImageSource source;
  NewSnapshot made;
  codec::read_image_source(fields, source);
  codec::read_new_snapshot(fields, made);
  if (made.built) fields.complain("built", "is of captures alone");
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject("snapshot from " + source.reference);
  auto begun = co_await cay.snapshots().create_from_image(exchange->principal(), std::move(made),
                                                          std::move(source));
  if (!begun) co_return std::move(begun).error();
  auto answer = co_await made_answer(cay, std::move(exchange), *std::move(begun));
  co_return answer;
}

Task<http::Response> create_snapshot_from_archive(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_CHECK(snapshot_wait(*exchange));
  NewSnapshot made;
  made.name = query_or(*exchange, "name", "");
  made.tag = query_or(*exchange, "tag", "");
  auto bytes = query_number(*exchange, "disk_bytes", 0, 0, INT64_MAX);
  if (!bytes) co_return std::move(bytes).error();
  made.disk_bytes = *bytes;
  exchange->note_subject("snapshot " + (made.name.empty() ? "" : made.name + " ") +
                         "from an archive");
  auto archive = exchange->body();
  auto begun = co_await cay.snapshots().create_from_archive(exchange->principal(), std::move(made),
                                                            std::move(archive));
  if (!begun) co_return std::move(begun).error();
  auto answer = co_await made_answer(cay, std::move(exchange), *std::move(begun));
  co_return answer;
}

Task<http::Response> capture_sandbox(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_CHECK(snapshot_wait(*exchange));
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  NewSnapshot made;
  codec::read_new_snapshot(fields, made);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject("snapshot " + made.name);
  auto begun = co_await cay.snapshots().capture(exchange->principal(), param(*exchange, "ref"),
                                                std::move(made));
  if (!begun) co_return std::move(begun).error();
  auto answer = co_await made_answer(cay, std::move(exchange), *std::move(begun));
  co_return answer;
}

Task<http::Response> delete_snapshot(core::Cay& cay, ExchangePtr exchange) {
  auto gone = co_await cay.snapshots().remove(exchange->principal(), param(*exchange, "ref"));
  if (!gone) co_return std::move(gone).error();
  co_return empty_answer(204);
}

Task<http::Response> tag_snapshot(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  std::string tag;
  if (!fields.read("tag", tag)) fields.complain("tag", "is needed");
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject("tag " + tag);
  auto got = co_await cay.snapshots().tag(exchange->principal(), param(*exchange, "ref"), tag);
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> push_snapshot(core::Cay& cay, ExchangePtr exchange) {
  auto patience = snapshot_wait(*exchange);
  if (!patience) co_return std::move(patience).error();
  auto body = co_await login_body(exchange);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  std::string reference;
  RegistryLogin login;
  if (!fields.read("reference", reference))
    fields.complain("reference", "is needed: REGISTRY/NAME:TAG");
  codec::read_login(fields, login);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject("push to " + reference);
  const std::string ref = param(*exchange, "ref");
  auto begun =
      co_await cay.snapshots().push(exchange->principal(), ref, reference, std::move(login));
  if (!begun) co_return std::move(begun).error();
  if (patience->count() == 0) co_return json_answer(200, codec::to_json(*begun));
  auto waiting = cay.snapshots().pushed(exchange->principal(), begun->snapshot.get(), *patience);
  auto now = co_await std::move(waiting);
  if (!now) co_return std::move(now).error();
  co_return json_answer(200, codec::to_json(*now));
}

Task<http::Response> get_push(core::Cay& cay, ExchangePtr exchange) {
  auto patience = snapshot_wait(*exchange);
  if (!patience) co_return std::move(patience).error();
  auto got =
      co_await cay.snapshots().pushed(exchange->principal(), param(*exchange, "ref"), *patience);
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, codec::to_json(*got));
}

Task<http::Response> fork_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  ForkRequest request;
  codec::read_fork(fields, request);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  auto made = co_await cay.sandboxes().fork(exchange->principal(), param(*exchange, "ref"),
                                            std::move(request));
  if (!made) co_return std::move(made).error();
  array items;
  std::string names;
  for (const Sandbox& sandbox : *made) {
    items.emplace_back(codec::to_json(sandbox));
    names += (names.empty() ? "" : ", ") + sandbox.name;
  }
  exchange->note_subject("forks: " + names.substr(0, 200));
  co_return json_answer(201, object{{"items", std::move(items)}});
}

Task<http::Response> rollback_sandbox(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit, codec::Empty::kIsObject);
  if (!body) co_return std::move(body).error();
  codec::Fields fields(*body);
  std::string snapshot;
  fields.read("snapshot", snapshot);
  fields.refuse_unknown();
  CAY_CO_CHECK(fields.first_error());
  if (!snapshot.empty()) exchange->note_subject("to snapshot " + snapshot);
  auto back = co_await cay.sandboxes().rollback(exchange->principal(), param(*exchange, "ref"),
                                                std::move(snapshot));
  if (!back) co_return std::move(back).error();
  co_return json_answer(200, codec::to_json(*back));
}

}  // namespace cay::api::native
