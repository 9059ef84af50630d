#include "api/daytona/snapshots.h"

#include <algorithm>
#include <utility>

#include "api/common/request_body.h"
#include "api/daytona/create_json.h"
#include "api/daytona/list_query.h"
#include "api/daytona/lookup.h"
#include "api/daytona/snapshots_json.h"
#include "core/verbs/builds.h"
#include "core/verbs/snapshots.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostOfBody = 512 * 1024;
constexpr std::size_t kMostOfDockerfile = 256 * 1024;
constexpr std::size_t kMostWords = 256;
constexpr std::size_t kMostHashes = 64;
constexpr std::size_t kMostNames = 4096;  // they are of use while the work goes on

Error no_snapshot(const std::string& ref) {
  return {Code::kNotFound, "snapshot_not_found", "Snapshot with ID or name " + ref + " not found",
          0};
}

// One that is being made is found by the name that it will have.
Task<SnapshotInfo> snapshot_of(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const std::string ref = ref_of(exchange);
  auto found = co_await control->cay.snapshots().get(exchange->principal(), ref);
  if (found) co_return found;
  for (const auto& [id, name] : control->snapshot_names) {
    if (name != ref) continue;
    const std::string begun = id.get();
    auto under_way = co_await control->cay.snapshots().get(exchange->principal(), begun);
    if (under_way) co_return under_way;  // else it is another tenant's
  }
  if (!found && found.error().code == Code::kNotFound) co_return no_snapshot(ref);
  co_return found;
}

json::object shown(const Control& control, const SnapshotInfo& snapshot) {
  auto out = snapshot_json(snapshot, control.config.usual);
  const auto name = control.snapshot_names.find(snapshot.id);
  if (name != control.snapshot_names.end()) out["name"] = codec::text(name->second);
  return out;
}

struct AskedSnapshot {
  std::string name{}, image{}, dockerfile{};
  std::vector<std::string> contexts{}, entrypoint{};
  Limits limits{};
};

Result<AskedSnapshot> read_snapshot(codec::Fields& fields, const Limits& maximum) {
  AskedSnapshot out;
  if (!fields.read("name", out.name) || out.name.empty()) fields.complain("name", "is needed");
  fields.read("imageName", out.image);
  fields.read("entrypoint", out.entrypoint, kMostWords);
  if (const auto* build = fields.object("buildInfo")) {
    codec::Fields inner(*build, fields.path("buildInfo"));
    inner.read("dockerfileContent", out.dockerfile, kMostOfDockerfile);
    inner.read("contextHashes", out.contexts, kMostHashes);
    if (out.dockerfile.empty()) inner.complain("dockerfileContent", "is needed");
    fields.adopt(inner);
  }
  if (out.image.empty() == out.dockerfile.empty())
    fields.complain("", "a snapshot needs either imageName or buildInfo");
  std::int64_t gpus = 0;
  if (fields.read("gpu", gpus, 0, INT32_MAX) && gpus > 0)
    fields.complain("gpu", "this host gives no GPU to a sandbox: leave it out");
  CAY_TRY(out.limits, read_resources(fields, maximum));
  return out;
}

}  // namespace

Task<void> check_free(std::shared_ptr<Control> control, ExchangePtr exchange, std::string name) {
  auto found = co_await control->cay.snapshots().get(exchange->principal(), name);
  const bool taken = found && !found->tenant.get().empty() && full_name(*found) == name &&
                     found->status != kSnapshotFailed && found->status != kSnapshotDeleting;
  if (taken) {
    co_return Error{Code::kAlreadyExists, "snapshot_exists",
                    "Snapshot with name \"" + name + "\" already exists for this organization", 0};
  }
  co_return Result<void>();
}

Task<http::Response> create_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMostOfBody));
  CAY_CO_TRY(const auto in, codec::parse_object(body));
  codec::Fields fields(in);
  auto asked = read_snapshot(fields, control->config.maximum);
  CAY_CO_CHECK(fields.first_error());
  if (!asked) co_return std::move(asked).error();
  exchange->note_subject("snapshot " + asked->name);
  CAY_CO_CHECK(co_await check_free(control, exchange, asked->name));
  NewSnapshot made;
  set_name(made, asked->name);
  keep_resources(made, asked->limits);
  const Principal& who = exchange->principal();
  SnapshotInfo row;
  // An image with an entrypoint of its own is a build of one more line.
  if (!asked->image.empty() && !asked->entrypoint.empty()) {
    json::array words;
    for (const auto& word : asked->entrypoint) words.emplace_back(codec::text(word));
    asked->dockerfile = "FROM " + asked->image + "\nENTRYPOINT " +
                        codec::write(json::value(std::move(words))) + "\n";
  }
  if (asked->dockerfile.empty()) {
    CAY_CO_TRY(row, co_await control->cay.snapshots().create_from_image(
                        who, std::move(made), ImageSource{.reference = asked->image}));
  } else {
    BuildRequest request;
    request.dockerfile = asked->dockerfile;
    CAY_CO_TRY(auto context, control->contexts.joined(who.tenant, asked->contexts));
    CAY_CO_TRY(row, co_await control->cay.builds().build(who, std::move(made), std::move(request),
                                                         std::move(context)));
  }
  if (control->snapshot_names.size() >= kMostNames) control->snapshot_names.clear();
  control->snapshot_names[row.id] = asked->name;
  co_return json_answer(200, shown(*control, row));
}

Task<http::Response> list_snapshots(std::shared_ptr<Control> control, ExchangePtr exchange) {
  const auto& query = exchange->head().query;
  CAY_CO_TRY(const Page page, read_page(query));
  CAY_CO_TRY(auto all, co_await control->cay.snapshots().list(exchange->principal()));
  const std::string name(query.get("name").value_or(""));
  const std::string source(query.get("sourceSandboxId").value_or(""));
  std::erase_if(all, [&](const SnapshotInfo& one) {
    return (!name.empty() && full_name(one).find(name) == std::string::npos) ||
           (!source.empty() && one.source_sandbox.get() != source);
  });
  if (query.get("sort") == "name") {
    std::sort(all.begin(), all.end(),
              [](const auto& one, const auto& other) { return full_name(one) < full_name(other); });
  }
  json::array items;
  for (std::size_t i = page.offset(); i < std::min(all.size(), page.offset() + page.limit); ++i)
    items.emplace_back(shown(*control, all[i]));
  co_return json_answer(200, page_json(std::move(items), all.size(), page));
}

Task<http::Response> get_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const SnapshotInfo found, co_await snapshot_of(control, exchange));
  co_return json_answer(200, shown(*control, found));
}

Task<http::Response> delete_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const SnapshotInfo found, co_await snapshot_of(control, exchange));
  CAY_CO_CHECK(co_await control->cay.snapshots().remove(exchange->principal(), found.id.get()));
  control->snapshot_names.erase(found.id);
  co_return empty_answer(200);
}

Task<http::Response> activate_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const SnapshotInfo found, co_await snapshot_of(control, exchange));
  if (found.status != kSnapshotReady)
    co_return invalid("wrong_state", "Snapshot " + full_name(found) + " cannot be activated");
  co_return json_answer(200, shown(*control, found));
}

Task<http::Response> deactivate_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const SnapshotInfo found, co_await snapshot_of(control, exchange));
  co_return Error{Code::kUnsupported, "not_here",
                  "Snapshot " + full_name(found) +
                      " stays active: a snapshot of Cay costs nothing but its disk. Delete it",
                  0};
}

}  // namespace cay::api::daytona
