// Routes about what is used: now, and so far.
#include "api/native/handlers.h"
#include "api/native/request.h"
#include "codec/model_json.h"
#include "codec/usage_json.h"
#include "core/ports/runtime.h"
#include "core/verbs/inspection.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/usage.h"

namespace cay::api::native {

using codec::json::array;
using codec::json::object;

namespace {

object stats_json(const core::SandboxStats& stats) {
  return {{"cpu_usec", stats.cpu_usec},
          {"memory_bytes", stats.memory_bytes},
          {"tmpfs_bytes", stats.tmpfs_bytes},
          {"pids", stats.pids},
          {"oom_kills", stats.oom_kills},
          {"running_commands", stats.running_commands},
          {"paused", stats.paused}};
}

}  // namespace

Task<http::Response> sandbox_stats(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.inspection().stats(exchange->principal(), param(*exchange, "ref"));
  if (!got) co_return std::move(got).error();
  co_return json_answer(200, stats_json(*got));
}

Task<http::Response> usage(core::Cay& cay, ExchangePtr exchange) {
  const Principal who = exchange->principal();
  UsageQuery query;
  for (const std::string_view label : exchange->head().query.all("label")) {
    auto parsed = label_filter(label);
    if (!parsed) co_return std::move(parsed).error();
    query.labels.push_back(*std::move(parsed));
  }
  query.group_by = query_or(*exchange, "group_by", "");
  auto now = co_await cay.usage().summary(who);
  if (!now) co_return std::move(now).error();
  auto report = co_await cay.usage().report(who, query);
  if (!report) co_return std::move(report).error();
  object out = codec::to_json(*now);
  out["sandboxes"] = report->all.sandboxes;
  out["totals"] = codec::to_json(report->all.totals);
  if (!query.group_by.empty()) {
    array groups;
    for (const auto& [value, sum] : report->groups) {
      object group = codec::to_json(sum);
      group["value"] = codec::text(value);
      groups.emplace_back(std::move(group));
    }
    out["groups"] = std::move(groups);
  }
  co_return json_answer(200, out);
}

Task<http::Response> sandbox_usage(core::Cay& cay, ExchangePtr exchange) {
  const Principal who = exchange->principal();
  const std::string ref = param(*exchange, "ref");
  auto box = co_await cay.sandboxes().get(who, ref);
  if (!box) co_return std::move(box).error();
  auto totals = co_await cay.usage().of(who, box->id.get());
  if (!totals) co_return std::move(totals).error();
  object out = codec::to_json(*totals);
  out["sandbox_id"] = box->id.get();
  out["sandbox"] = box->name;
  out["state"] = std::string(to_string(box->state));
  co_return json_answer(200, out);
}

// Returns the present use of the running sandboxes, all at once.
Task<http::Response> all_stats(core::Cay& cay, ExchangePtr exchange) {
  auto got = co_await cay.usage().now(exchange->principal());
  if (!got) co_return std::move(got).error();
  array items;
  for (const auto& one : *got) {
    object item = stats_json(one.stats);
    item["sandbox_id"] = one.sandbox.id.get();
    item["sandbox"] = one.sandbox.name;
    item["state"] = std::string(to_string(one.sandbox.state));
    item["limits"] = codec::to_json(one.sandbox.limits);
    item["bytes_in"] = one.totals.bytes_in;
    item["bytes_out"] = one.totals.bytes_out;
    items.emplace_back(std::move(item));
  }
  co_return json_answer(200, object{{"items", std::move(items)}});
}

}  // namespace cay::api::native
