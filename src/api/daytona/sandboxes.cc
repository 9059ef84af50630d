#include "api/daytona/sandboxes.h"

#include "api/daytona/build.h"
#include "api/daytona/intervals.h"
#include "api/daytona/lookup.h"
#include "api/daytona/notes.h"
#include "api/daytona/sandboxes_json.h"
#include "core/verbs/commands.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::daytona {
namespace {

http::Response shown(const Sandbox& sandbox, const ExchangePtr& exchange) {
  return json_answer(200, sandbox_json(sandbox, base_url(exchange->head())));
}

Error wrong_state(const std::string& message) { return invalid("wrong_state", message); }

// Starts it and waits until it runs.
Task<Sandbox> brought_up(core::Cay& cay, ExchangePtr exchange, std::string id) {
  const Principal& who = exchange->principal();
  CAY_CO_CHECK(co_await cay.sandboxes().start(who, id));
  CAY_CO_CHECK(co_await cay.commands().wake(who, id));
  auto now = co_await cay.sandboxes().get(who, std::move(id));
  co_return now;
}

}  // namespace

Task<http::Response> get_sandbox(SharedControl control, ExchangePtr exchange) {
  const auto creation = control->creations.find(exchange->principal(), ref_of(exchange));
  if (creation) co_return json_answer(200, creation_json(*creation, base_url(exchange->head())));
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  co_return shown(sandbox, exchange);
}

Task<http::Response> delete_sandbox(SharedControl control, ExchangePtr exchange) {
  codec::json::object out;
  const std::string base = base_url(exchange->head());
  if (const auto creation = control->creations.find(exchange->principal(), ref_of(exchange))) {
    creation->removed = true;
    out = creation_json(*creation, base);
    if (creation->over_at != 0) control->creations.remove(creation->id);
  } else {
    CAY_CO_TRY(Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
    CAY_CO_CHECK(co_await control->cay.sandboxes().remove(exchange->principal(), sandbox.id.get()));
    sandbox.state = SandboxState::kDeleting;
    out = sandbox_json(sandbox, base);
  }
  out["state"] = "destroyed";
  co_return json_answer(200, out);
}

Task<http::Response> start_sandbox(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  CAY_CO_TRY(const Sandbox now, co_await brought_up(control->cay, exchange, sandbox.id.get()));
  co_return shown(now, exchange);
}

Task<http::Response> recover_sandbox(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  if (sandbox.state != SandboxState::kFailed)
    co_return wrong_state("Sandbox must be in error state to recover");
  CAY_CO_TRY(Sandbox now, co_await brought_up(control->cay, exchange, sandbox.id.get()));
  if (exchange->head().query.get("skipStart") == "true") {
    CAY_CO_CHECK(co_await control->cay.sandboxes().stop(exchange->principal(), now.id.get()));
    CAY_CO_TRY(now, co_await sandbox_of(control->cay, exchange));
  }
  co_return shown(now, exchange);
}

Task<http::Response> stop_sandbox(SharedControl control, ExchangePtr exchange) {
  core::Cay& cay = control->cay;
  CAY_CO_TRY(Sandbox sandbox, co_await sandbox_of(cay, exchange));
  const Principal& who = exchange->principal();
  CAY_CO_CHECK(co_await cay.sandboxes().stop(who, sandbox.id.get()));
  if (auto_delete_of(sandbox) == 0) {  // an ephemeral one ends with its stop
    auto gone = co_await cay.sandboxes().remove(who, sandbox.id.get());
    if (!gone && gone.error().code != Code::kNotFound) co_return std::move(gone).error();
    sandbox.state = SandboxState::kDeleting;
    auto out = sandbox_json(sandbox, base_url(exchange->head()));
    out["state"] = "destroyed";
    co_return json_answer(200, out);
  }
  CAY_CO_TRY(const Sandbox now, co_await cay.sandboxes().get(who, sandbox.id.get()));
  co_return shown(now, exchange);
}

Task<http::Response> pause_sandbox(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  if (sandbox.state != SandboxState::kReady && sandbox.state != SandboxState::kPaused)
    co_return wrong_state("Sandbox is not started");
  CAY_CO_TRY(const Sandbox now,
             co_await control->cay.sandboxes().pause(exchange->principal(), sandbox.id.get()));
  co_return shown(now, exchange);
}

Task<http::Response> archive_sandbox(SharedControl control, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(control->cay, exchange));
  if (sandbox.state != SandboxState::kStopped || !sandbox.stopped_at)
    co_return wrong_state("Sandbox is not stopped");
  if (auto_delete_of(sandbox) == 0) co_return wrong_state("Ephemeral sandboxes cannot be archived");
  SandboxPatch patch;
  patch.notes[kArchivedNote] = std::to_string(*sandbox.stopped_at);
  auto work =
      control->cay.sandboxes().update(exchange->principal(), sandbox.id.get(), std::move(patch));
  CAY_CO_TRY(const Sandbox now, co_await std::move(work));
  co_return shown(now, exchange);
}

}  // namespace cay::api::daytona
