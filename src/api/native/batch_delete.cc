// POST /sandboxes/batch-delete: by ids or names, by labels, or all.
#include "api/common/subjects.h"
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

Result<core::RemovalQuery> query_of(const object& body) {
  constexpr std::size_t kMostRefs = 1000;
  constexpr std::size_t kMostLabels = 64;
  core::RemovalQuery out;
  std::vector<std::string> labels;
  codec::Fields fields(body);
  fields.read("refs", out.refs, kMostRefs);
  fields.read("labels", labels, kMostLabels);
  fields.read("all", out.every);
  for (const auto& label : labels) {
    auto filter = label_filter(label);
    if (!filter) {
      fields.complain("labels", "must be KEY or KEY=VALUE");
      break;
    }
    out.labels.push_back(*std::move(filter));
  }
  // An empty filter must not mean everything.
  const bool nothing = !fields.has("refs") && out.labels.empty() && !out.every;
  if (fields.ok() && nothing)
    fields.complain("refs", "is needed: ids or names; or labels, or all: true");
  if (fields.ok() && out.every && (!out.refs.empty() || !out.labels.empty()))
    fields.complain("all", "goes with neither refs nor labels");
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

// On record until it is known what went: each removal goes on, though the caller leave.
std::string asked(const core::RemovalQuery& query) {
  Subjects out("asked to delete");
  for (const auto& ref : query.refs) out.add(ref);
  for (const auto& [key, value] : query.labels)
    out.add("those with " + key + (value ? "=" + *value : ""));
  if (query.every) out.add("all");
  return out.text();
}

}  // namespace

Task<http::Response> batch_delete(core::Cay& cay, ExchangePtr exchange) {
  auto body = co_await body_object(exchange, kBodyLimit);
  if (!body) co_return std::move(body).error();
  auto query = query_of(*body);
  if (!query) co_return std::move(query).error();
  exchange->note_subject(asked(*query));
  auto removed = co_await cay.sandboxes().remove_all(exchange->principal(), *std::move(query));
  if (!removed) co_return std::move(removed).error();
  array deleted;
  array failed;
  Subjects subjects("deleted");
  for (const auto& one : *removed) {
    if (one.done) {
      subjects.add(one.ref);
      deleted.emplace_back(codec::text(one.ref));
    } else {
      const Error& error = one.done.error();
      failed.emplace_back(object{{"ref", codec::text(one.ref)},
                                 {"error", codec::to_json(error, note_error(error))}});
    }
  }
  exchange->note_subject(subjects.text());
  co_return json_answer(200,
                        object{{"deleted", std::move(deleted)}, {"failed", std::move(failed)}});
}

}  // namespace cay::api::native
