// Changes of a sandbox's size, and copies of it.
#include <map>
#include <set>

#include "api/common/request_body.h"
#include "api/daytona/create_json.h"
#include "api/daytona/lookup.h"
#include "api/daytona/notes.h"
#include "api/daytona/sandboxes.h"
#include "api/daytona/sandboxes_json.h"
#include "api/daytona/snapshots.h"
#include "api/daytona/snapshots_json.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/snapshots.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostOfRequest = 64 * 1024;
constexpr std::chrono::milliseconds kCapturePatience{50'000};

Task<json::object> object_in(ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMostOfRequest));
  auto object = codec::parse_object(body, codec::Empty::kIsObject);
  co_return object;
}

// The notes that a fork has of its source. It is no archive, and its URLs have a key of their own.
SandboxNotes notes_of_fork(const Sandbox& source) {
  SandboxNotes notes = source.notes;
  notes.erase(kArchivedNote);
  notes.erase(kSigningKeyNote);
  notes[kParentNote] = source.id.get();
  return notes;
}

Task<std::vector<Sandbox>> all_of(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(SandboxPage page, co_await cay.sandboxes().list(exchange->principal(), {}));
  co_return std::move(page.items);
}

}  // namespace

Task<http::Response> resize_sandbox(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await object_in(exchange));
  codec::Fields fields(in);
  const auto asked = read_resources(fields, control->config.maximum);
  CAY_CO_CHECK(fields.first_error());
  if (!asked) co_return asked.error();
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  SandboxPatch patch;
  const auto change = [](auto given, auto present, auto& out) {
    if (given != 0 && given != present) out = given;
  };
  change(asked->cpu_millicores, sandbox.limits.cpu_millicores, patch.cpu_millicores);
  change(asked->memory_bytes, sandbox.limits.memory_bytes, patch.memory_bytes);
  change(asked->disk_bytes, sandbox.limits.disk_bytes, patch.disk_bytes);
  if (!patch.cpu_millicores && !patch.memory_bytes && !patch.disk_bytes)
    co_return invalid("invalid_limits", "No resource changes: nothing to resize");
  if (patch.disk_bytes && *patch.disk_bytes < sandbox.limits.disk_bytes)
    co_return invalid("invalid_limits", "Disk size cannot be decreased");
  if (sandbox.state != SandboxState::kStopped) {
    co_return invalid("wrong_state",
                      "Sandbox must be stopped to be resized: Cay sets limits at a start");
  }
  auto work =
      control->cay.sandboxes().update(exchange->principal(), sandbox.id.get(), std::move(patch));
  CAY_CO_TRY(const Sandbox now, co_await std::move(work));
  co_return json_answer(200, sandbox_json(now, base_url(exchange->head())));
}

Task<http::Response> fork_sandbox(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await object_in(exchange));
  codec::Fields fields(in);
  std::string name;
  fields.read("name", name);
  CAY_CO_CHECK(fields.first_error());
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  if (sandbox.state != SandboxState::kReady)
    co_return invalid("wrong_state", "Sandbox is not started");
  ForkRequest request;
  if (!name.empty()) request.names.push_back(name);
  request.notes = notes_of_fork(sandbox);
  exchange->note_subject("fork " + name);
  auto work =
      control->cay.sandboxes().fork(exchange->principal(), sandbox.id.get(), std::move(request));
  auto made = co_await std::move(work);
  if (!made && made.error().reason == "name_in_use") {
    co_return Error{Code::kAlreadyExists, "name_in_use",
                    "Sandbox with name " + name + " already exists", 0};
  }
  if (!made) co_return std::move(made).error();
  co_return json_answer(200, sandbox_json(made->front(), base_url(exchange->head())));
}

Task<http::Response> snapshot_sandbox(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const auto in, co_await object_in(exchange));
  codec::Fields fields(in);
  std::string name;
  if (!fields.read("name", name) || name.empty()) fields.complain("name", "is needed");
  bool memory = false;
  if (fields.read("includeMemory", memory) && memory)
    fields.complain("includeMemory", "Cay keeps the disk alone: leave it out");
  CAY_CO_CHECK(fields.first_error());
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  CAY_CO_CHECK(co_await check_free(control, exchange, name));
  NewSnapshot made;
  set_name(made, name);
  keep_resources(made, sandbox.limits);
  exchange->note_subject("snapshot " + name);
  const Principal& who = exchange->principal();
  core::Snapshots& snapshots = control->cay.snapshots();
  CAY_CO_TRY(SnapshotInfo snapshot,
             co_await snapshots.capture(who, sandbox.id.get(), std::move(made)));
  CAY_CO_TRY(snapshot, co_await snapshots.wait(who, snapshot.id, kCapturePatience));
  if (snapshot.status == kSnapshotFailed)
    co_return Error{Code::kNotReady, "snapshot_failed", snapshot.status_message, 0};
  CAY_CO_TRY(const Sandbox now, co_await control->cay.sandboxes().get(who, sandbox.id.get()));
  auto out = sandbox_json(now, base_url(exchange->head()));
  if (snapshot.status == kSnapshotBuilding) out["state"] = "snapshotting";
  co_return json_answer(200, out);
}

Task<http::Response> list_forks(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  CAY_CO_TRY(const auto all, co_await all_of(control->cay, exchange));
  json::array out;
  const std::string base = base_url(exchange->head());
  for (const Sandbox& one : all) {
    if (note_of(one, kParentNote) == sandbox.id.get()) out.emplace_back(sandbox_json(one, base));
  }
  co_return json_answer(200, out);
}

Task<http::Response> get_parent(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  const std::string parent = note_of(sandbox, kParentNote);
  const Error none{Code::kNotFound, "sandbox_not_found", "Sandbox has no parent", 0};
  if (parent.empty()) co_return none;
  auto found = co_await control->cay.sandboxes().get(exchange->principal(), parent);
  if (!found) co_return none;
  co_return json_answer(200, sandbox_json(*found, base_url(exchange->head())));
}

Task<http::Response> list_ancestors(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  CAY_CO_TRY(const auto all, co_await all_of(control->cay, exchange));
  std::map<std::string, const Sandbox*> by_id;
  for (const Sandbox& one : all) by_id[one.id.get()] = &one;
  json::array out;
  std::set<std::string> seen;
  std::string next = note_of(sandbox, kParentNote);
  while (by_id.contains(next) && seen.insert(next).second) {
    out.emplace_back(sandbox_json(*by_id[next], base_url(exchange->head())));
    next = note_of(*by_id[next], kParentNote);
  }
  co_return json_answer(200, out);
}

}  // namespace cay::api::daytona
