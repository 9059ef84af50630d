// Tools about sandboxes as a whole.
#include <cmath>

#include "api/common/audit_subjects.h"
#include "api/mcp/results.h"
#include "api/mcp/tools.h"
#include "codec/model_json.h"
#include "codec/model_read.h"
#include "codec/time.h"
#include "core/verbs/links.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/snapshots.h"

namespace cay::api::mcp {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kUsualPage = 100;
constexpr std::int64_t kLinkLifetime = 3600;  // seconds
constexpr std::chrono::seconds kSnapshotPatience{600};

json::string safe(std::string_view text) { return codec::text(text); }

// The creation as the native API has it, so that one place checks both.
json::object creation_of(const Arguments& given) {
  json::object out;
  for (const char* name :
       {"name", "snapshot", "image", "policy", "env", "labels", "idle_ttl_s", "lifetime_s"}) {
    if (given.has(name)) out[name] = given.value(name);
  }
  json::object limits;
  if (given.has("memory_mb")) limits["memory_bytes"] = given.integer("memory_mb", 0) * kMebibyte;
  if (given.has("disk_mb")) limits["disk_bytes"] = given.integer("disk_mb", 0) * kMebibyte;
  if (given.has("cpus"))
    limits["cpu_millicores"] =
        static_cast<std::int64_t>(std::llround(given.number("cpus", 0) * 1000));
  if (!limits.empty()) out["limits"] = std::move(limits);
  return out;
}

json::object brief(const Sandbox& sandbox) {
  const json::object whole = codec::to_json(sandbox);
  json::object out;
  for (const char* name :
       {"name", "id", "state", "reason", "snapshot", "policy", "labels", "limits", "created_at"}) {
    if (const json::value* member = whole.if_contains(name)) out[name] = *member;
  }
  return out;
}

std::string line_of(const Sandbox& sandbox) {
  return sandbox.name + "  " + std::string(to_string(sandbox.state)) + "  " +
         sandbox.snapshot_name + "\n";
}

json::object list_result(const std::vector<Sandbox>& sandboxes, std::string text) {
  json::array items;
  for (const Sandbox& sandbox : sandboxes) {
    items.emplace_back(brief(sandbox));
    text += line_of(sandbox);
  }
  return text_result(text, {{"sandboxes", std::move(items)}});
}

}  // namespace

Task<json::object> create_sandbox(Call call) {
  auto request = codec::read_create(creation_of(call.arguments));
  if (!request) co_return std::move(request).error();
  const std::string settings = settings_subject(request->spec);
  call.exchange->note_subject(creation_subject(request->spec.name, settings));
  call.report("creating the sandbox");
  core::CreateOptions options;
  // An image may have to be pulled first.
  if (!request->spec.image.empty()) options.timeout = kSnapshotPatience;
  auto made = co_await call.cay->sandboxes().create(call.who(), std::move(request->spec), options);
  if (!made) co_return std::move(made).error();
  call.exchange->note_subject(creation_subject(made->name, settings));
  co_return text_result("Sandbox " + made->name + " is ready.", {{"sandbox", brief(*made)}});
}

Task<json::object> list_sandboxes(Call call) {
  SandboxQuery query;
  query.name_contains = call.arguments.text("name_contains");
  query.sort = SandboxSort::kCreatedAt;
  query.descending = true;
  query.limit = static_cast<std::uint32_t>(call.arguments.integer("limit", kUsualPage));
  auto page = co_await call.cay->sandboxes().list(call.who(), std::move(query));
  if (!page) co_return std::move(page).error();
  json::object out = list_result(page->items, page->items.empty() ? "There is no sandbox." : "");
  out["structuredContent"].as_object()["more"] = page->more;
  co_return out;
}

Task<json::object> delete_sandbox(Call call) {
  auto gone = co_await call.cay->sandboxes().remove(call.who(), call.sandbox());
  if (!gone) co_return std::move(gone).error();
  co_return text_result("Sandbox " + call.sandbox() + " is deleted.",
                        {{"deleted", safe(call.sandbox())}});
}

Task<json::object> snapshot_sandbox(Call call) {
  NewSnapshot wanted;
  wanted.name = call.arguments.text("name");
  // NAME:TAG
  if (const auto colon = wanted.name.rfind(':'); colon != std::string::npos) {
    wanted.tag = wanted.name.substr(colon + 1);
    wanted.name.resize(colon);
  }
  call.exchange->note_subject("snapshot " + wanted.name);
  call.report("capturing the disk");
  auto begun =
      co_await call.cay->snapshots().capture(call.who(), call.sandbox(), std::move(wanted));
  if (!begun) co_return std::move(begun).error();
  auto waiting = call.cay->snapshots().wait(call.who(), begun->id, kSnapshotPatience);
  auto made = co_await std::move(waiting);
  if (!made) co_return std::move(made).error();
  const std::string text = "Snapshot " + made->name + " is " + made->status + ".";
  if (made->status == kSnapshotFailed) {
    co_return Error{Code::kNotReady, "snapshot_failed", text + " " + made->status_message, 0};
  }
  co_return text_result(text, {{"snapshot", codec::to_json(*made)}});
}

Task<json::object> fork_sandbox(Call call) {
  ForkRequest request;
  request.names = call.arguments.texts("names");
  if (request.names.empty())
    request.count = static_cast<std::uint32_t>(call.arguments.integer("count", 1));
  call.report("copying the disk");
  auto made = co_await call.cay->sandboxes().fork(call.who(), call.sandbox(), std::move(request));
  if (!made) co_return std::move(made).error();
  std::string names;
  for (const Sandbox& one : *made) names += (names.empty() ? "" : ", ") + one.name;
  call.exchange->note_subject("forks: " + names.substr(0, 200));
  co_return list_result(*made, "Copies of " + call.sandbox() + ":\n");
}

Task<json::object> make_url(Call call) {
  LinkSpec spec;
  spec.port = static_cast<std::uint16_t>(call.arguments.integer("port", 0));
  spec.lifetime_s = call.arguments.integer("expires_in_s", kLinkLifetime);
  const std::string asked = link_subject(spec);
  call.exchange->note_subject("link " + asked);
  auto made = co_await call.cay->links().issue(call.who(), call.sandbox(), std::move(spec));
  if (!made) co_return std::move(made).error();
  const Link& link = made->link;
  call.exchange->note_subject("link " + link.id.get() + " " + asked);
  const ServiceUrls urls = service_urls(call.names, call.exchange->head(),
                                        ServicePlace{link.sandbox, link.spec.port}, made->token);
  json::object out{{"url", urls.base},       {"browser_url", nullptr},
                   {"token", made->token},   {"header", "X-Cay-Service-Token"},
                   {"port", link.spec.port}, {"expires_at", nullptr}};
  if (link.expires_at) out["expires_at"] = codec::rfc3339(*link.expires_at);
  std::string text = "URL for programs: " + urls.base +
                     "\nThey send the header X-Cay-Service-Token: " + made->token + "\n";
  if (!urls.browser.empty()) {
    out["browser_url"] = urls.browser;
    text += "URL for browsers: " + urls.browser + "\n";
  }
  co_return text_result(text, std::move(out));
}

}  // namespace cay::api::mcp
