#include "api/daytona/create.h"

#include <utility>

#include "api/common/audit_subjects.h"
#include "api/common/request_body.h"
#include "api/daytona/build.h"
#include "api/daytona/create_json.h"
#include "api/daytona/lookup.h"
#include "api/daytona/sandboxes_json.h"
#include "core/verbs/claims.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/snapshots.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::size_t kMaxBody = 1 << 20;

Error in_vendors_words(Error error, const std::string& name) {
  if (error.reason == "name_in_use")
    error.message = "Sandbox with name " + name + " already exists";
  return error;
}

Task<void> settle_by_snapshot(std::shared_ptr<Control> control, ExchangePtr exchange,
                              SandboxSpec& spec) {
  std::string ref = spec.snapshot.empty() ? "default" : spec.snapshot;
  auto found = co_await control->cay.snapshots().get(exchange->principal(), std::move(ref));
  if (!found) {
    if (found.error().code != Code::kNotFound) co_return std::move(found).error();
    co_return Error{Code::kInvalidArgument, "invalid_snapshot",
                    "Snapshot " + spec.snapshot + " not found. Did you add it through the API?", 0};
  }
  if (found->status == kSnapshotBuilding) {
    co_return invalid("invalid_snapshot", "Snapshot " + spec.snapshot + " is not active");
  }
  settle(spec, *found);
  co_return Result<void>();
}

}  // namespace

Result<void> check_name_of_thread(const std::string& asked, const std::string& found) {
  if (asked.empty() || asked == found) return {};
  return Error{Code::kConflict, "thread_in_use",
               "the conversation of this thread_id has the sandbox " + found +
                   ": leave the name out, or give another label",
               0};
}

Task<Sandbox> make_sandbox(core::Cay& cay, Principal who, SandboxSpec spec,
                           core::CreateOptions options) {
  const std::string name = spec.name;
  if (spec.claim.empty()) {
    auto made = co_await cay.sandboxes().create(std::move(who), std::move(spec), options);
    if (!made) co_return in_vendors_words(std::move(made).error(), name);
    co_return made;
  }
  std::string claim = spec.claim;
  CAY_CO_TRY(core::Ensured ensured, co_await cay.claims().ensure(std::move(who), std::move(spec),
                                                                 std::move(claim), options));
  CAY_CO_CHECK(check_name_of_thread(name, ensured.sandbox.name));
  co_return std::move(ensured.sandbox);
}

Task<http::Response> create_sandbox(std::shared_ptr<Control> control, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxBody));
  CAY_CO_TRY(const auto in, codec::parse_object(body, codec::Empty::kIsObject));
  codec::Fields fields(in);
  auto asked = read_new_sandbox(fields, control->config);
  CAY_CO_CHECK(fields.first_error());
  if (!asked) co_return std::move(asked).error();
  const std::string settings = settings_subject(asked->spec);
  exchange->note_subject(creation_subject(asked->spec.name, settings));
  const std::string base = base_url(exchange->head());
  if (!asked->dockerfile.empty()) {
    CAY_CO_TRY(const BuiltSandbox built,
               co_await build_sandbox(control, exchange, *std::move(asked)));
    if (built.sandbox) co_return json_answer(200, sandbox_json(*built.sandbox, base));
    auto out = creation_json(*built.creation, base);
    // The first state that clients expect of it, whatever it is by now.
    if (built.creation->over_at == 0) out["state"] = "pending_build";
    co_return json_answer(200, out);
  }
  CAY_CO_CHECK(co_await settle_by_snapshot(control, exchange, asked->spec));
  auto work =
      make_sandbox(control->cay, exchange->principal(), std::move(asked->spec), asked->options);
  CAY_CO_TRY(const Sandbox made, co_await std::move(work));
  exchange->note_subject(creation_subject(made.name, settings));
  co_return json_answer(200, sandbox_json(made, base));
}

}  // namespace cay::api::daytona
