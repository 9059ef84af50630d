#include "api/langsmith/snapshots.h"

#include <algorithm>
#include <set>

#include "api/common/request_body.h"
#include "api/langsmith/boxes_json.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/list_query.h"
#include "api/langsmith/recorded_build.h"
#include "base/wiped_memory.h"
#include "codec/time.h"
#include "codec/wiped_json.h"
#include "core/validate.h"
#include "core/verbs/builds.h"
#include "core/verbs/snapshots.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostSnapshotBody = 1 << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;

std::string snapshot_named(const ExchangePtr& exchange) { return exchange->params().at("name"); }

json::value text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::value(codec::text(text));
}

// A body that may hold a registry's password, which is found nowhere after this.
Task<json::object> snapshot_body(ExchangePtr exchange) {
  CAY_CO_TRY(std::string text, co_await read_request_body(exchange, kMostSnapshotBody));
  const Wiped body(std::move(text));
  co_return codec::parse_wiped_object(body.view());
}

// The members that a build and a capture have in common.
Result<NewSnapshot> read_new(codec::Fields& fields, const Limits& maximum) {
  NewSnapshot made;
  if (!fields.read("name", made.name) || made.name.empty()) fields.complain("name", "is needed");
  fields.read("tag", made.tag);
  fields.read("labels", made.labels, 64);
  read_run_config(fields, "run_config", made.run);
  std::int64_t bytes = 0;
  if (fields.read("fs_capacity_bytes", bytes, core::kLeastLimits.disk_bytes, kMostBytes)) {
    made.disk_bytes = static_cast<std::uint64_t>(bytes);
    if (made.disk_bytes > maximum.disk_bytes) {
      return Error{Code::kExhausted, "quota_storage",
                   "storage: " + std::to_string(bytes) +
                       " bytes were requested, this host gives at most " +
                       std::to_string(maximum.disk_bytes) + ": ask for less",
                   0};
    }
  }
  return made;
}

// Clients up to 0.9.2 give the registry beside the image: "https://registry.example/v2/".
std::string with_registry(const std::string& url, const std::string& image) {
  std::string host = url.substr(url.find("://") == std::string::npos ? 0 : url.find("://") + 3);
  host = host.substr(0, host.find('/'));
  const bool has_one = image.starts_with(host + "/");
  return host.empty() || has_one ? image : host + "/" + image;
}

void read_source(codec::Fields& fields, ImageSource& source) {
  if (!fields.read("docker_image", source.reference) || source.reference.empty())
    fields.complain("docker_image", "is needed: an image's reference, such as python:3.12");
  std::string text;
  fields.read("registry_id", source.registry);
  if (fields.read("registry_url", text) && !text.empty())
    source.reference = with_registry(text, source.reference);
  fields.read("registry_username", source.login.username);
  fields.read("registry_password", source.login.password);
}

// Builds the image that a program inside the sandbox recorded.
Task<http::Response> build_recorded(core::Cay& cay, ExchangePtr exchange, NewSnapshot made,
                                    std::string image) {
  const std::string sandbox = snapshot_named(exchange);
  exchange->note_subject("snapshot " + made.name + " from a Dockerfile of the sandbox");
  auto looking = recorded_build(cay, exchange->principal(), sandbox, std::move(image));
  CAY_CO_TRY(RecordedBuild recorded, co_await std::move(looking));
  auto building =
      cay.builds().build_from_sandbox(exchange->principal(), sandbox, std::move(recorded.context),
                                      std::move(made), std::move(recorded.request));
  CAY_CO_TRY(const SnapshotInfo begun, co_await std::move(building));
  co_return json_answer(201, snapshot_json(begun));
}

bool less(const SnapshotInfo& a, const SnapshotInfo& b, const SandboxQuery& query) {
  switch (query.sort) {
    case SandboxSort::kName: return std::pair(a.name, a.id) < std::pair(b.name, b.id);
    case SandboxSort::kState: return std::pair(a.status, a.id) < std::pair(b.status, b.id);
    default: return std::pair(a.created_at, a.id) < std::pair(b.created_at, b.id);
  }
}

bool is_listed(const SnapshotInfo& one, const SandboxQuery& query) {
  if (one.name.find(query.name_contains) == std::string::npos) return false;
  if (!query.created_by.empty() && one.created_by != query.created_by) return false;
  if (query.state && one.status != to_string(*query.state)) return false;
  return std::ranges::all_of(query.labels, [&](const auto& label) {
    const auto found = one.config.labels.find(label.first);
    return found != one.config.labels.end() && (!label.second || found->second == *label.second);
  });
}

}  // namespace

json::object snapshot_json(const SnapshotInfo& snapshot) {
  json::array tags;
  for (const auto& tag : snapshot.tags) tags.emplace_back(codec::text(tag));
  json::object labels;
  for (const auto& [key, value] : snapshot.config.labels)
    labels[codec::text(key)] = codec::text(value);
  const UnixMillis updated = std::max(snapshot.updated_at, snapshot.created_at);
  return {
      {"id", snapshot.id.get()},
      {"name", codec::text(snapshot.name)},
      {"status", codec::text(snapshot.status)},
      {"status_message", text_or_null(snapshot.status_message)},
      {"fs_capacity_bytes", snapshot.disk_bytes == 0 ? snapshot.used_bytes : snapshot.disk_bytes},
      {"fs_used_bytes", snapshot.used_bytes},
      {"docker_image", text_or_null(snapshot.image_name)},
      {"image_digest", text_or_null(snapshot.digest)},
      {"source_sandbox_id", text_or_null(snapshot.source_sandbox.get())},
      {"registry_id", text_or_null(snapshot.registry)},
      {"run_config", run_json(snapshot.config.run)},
      {"labels", std::move(labels)},
      {"tags", std::move(tags)},
      {"created_by", text_or_null(snapshot.created_by)},
      {"created_at", codec::rfc3339(snapshot.created_at)},
      {"updated_at", codec::rfc3339(updated)},
  };
}

Task<http::Response> list_snapshots(core::Cay& cay, ExchangePtr exchange) {
  auto asked = read_list_query(exchange->head().query, exchange->principal());
  if (const auto* refusal = std::get_if<ListRefusal>(&asked))
    co_return envelope(refusal->status, "InvalidRequest", refusal->message, new_uuid());
  const auto& list = std::get<ListQuery>(asked);
  CAY_CO_TRY(auto all, co_await cay.snapshots().list(exchange->principal()));
  std::erase_if(all, [&](const SnapshotInfo& one) { return !is_listed(one, list.query); });
  std::ranges::sort(all, [&](const SnapshotInfo& a, const SnapshotInfo& b) {
    return list.query.descending ? less(b, a, list.query) : less(a, b, list.query);
  });
  const std::size_t begin = std::min<std::size_t>(list.query.offset, all.size());
  const std::size_t end = std::min<std::size_t>(begin + list.query.limit, all.size());
  json::array items;
  for (std::size_t i = begin; i < end; ++i) items.emplace_back(snapshot_json(all[i]));
  co_return json_answer(200, page_json("snapshots", std::move(items), end < all.size(), list));
}

Task<http::Response> get_snapshot(core::Cay& cay, ExchangePtr exchange) {
  auto finding = cay.snapshots().get(exchange->principal(), snapshot_named(exchange));
  CAY_CO_TRY(const SnapshotInfo found, co_await std::move(finding));
  co_return json_answer(200, snapshot_json(found));
}

Task<http::Response> snapshot_tags(core::Cay& cay, ExchangePtr exchange) {
  const std::string name = snapshot_named(exchange);
  CAY_CO_TRY(const auto all, co_await cay.snapshots().list(exchange->principal()));
  json::array tags;
  std::set<std::string> seen;
  bool is_there = false;
  for (const SnapshotInfo& one : all) {
    if (one.name != name) continue;
    is_there = true;
    for (const std::string& tag : one.tags) {
      if (!seen.insert(tag).second) continue;  // the tenant's own hides the host's
      tags.emplace_back(json::object{{"tag", codec::text(tag)}, {"snapshot_id", one.id.get()}});
    }
  }
  if (!is_there) {
    co_return Error{Code::kNotFound, "snapshot_not_found", "there is no snapshot '" + name + "'",
                    0};
  }
  co_return json_answer(200, json::object{{"name", codec::text(name)}, {"tags", std::move(tags)}});
}

Task<http::Response> create_snapshot(core::Cay& cay, Limits maximum, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await snapshot_body(exchange));
  codec::Fields fields(in);
  ImageSource source;
  auto made = read_new(fields, maximum);
  read_source(fields, source);
  if (!fields.ok()) co_return validation_error(fields);
  if (!made) co_return std::move(made).error();
  exchange->note_subject("snapshot " + made->name + " from " + source.reference);
  auto making =
      cay.snapshots().create_from_image(exchange->principal(), *std::move(made), std::move(source));
  CAY_CO_TRY(const SnapshotInfo begun, co_await std::move(making));
  co_return json_answer(201, snapshot_json(begun));
}

Task<http::Response> delete_snapshot(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_CHECK(co_await cay.snapshots().remove(exchange->principal(), snapshot_named(exchange)));
  co_return empty_answer(204);
}

Task<http::Response> capture_box(core::Cay& cay, Limits maximum, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await snapshot_body(exchange));
  codec::Fields fields(in);
  auto made = read_new(fields, maximum);
  std::string image;
  fields.read("docker_image", image);
  bool flag = false;
  for (const char* name : {"checkpoint", "include_memory"}) {
    if (fields.read(name, flag) && flag)
      fields.complain(name, "the memory of processes is not captured: leave it out");
  }
  if (!fields.ok()) co_return validation_error(fields);
  if (!made) co_return std::move(made).error();
  if (!image.empty()) {
    auto built = co_await build_recorded(cay, exchange, *std::move(made), std::move(image));
    co_return built;
  }
  exchange->note_subject("snapshot " + made->name);
  auto capturing =
      cay.snapshots().capture(exchange->principal(), snapshot_named(exchange), *std::move(made));
  CAY_CO_TRY(const SnapshotInfo begun, co_await std::move(capturing));
  co_return json_answer(201, snapshot_json(begun));
}

}  // namespace cay::api::langsmith
