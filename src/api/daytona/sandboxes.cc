#include "api/daytona/sandboxes.h"

#include "api/common/audit_subjects.h"
#include "api/common/request_body.h"
#include "api/daytona/lookup.h"
#include "api/daytona/sandboxes_json.h"
#include "codec/fields.h"
#include "core/verbs/sandboxes.h"

namespace cay::api::daytona {
namespace {

constexpr std::size_t kMaxBody = 1 << 20;

http::Response shown(const Sandbox& sandbox, const ExchangePtr& exchange) {
  return json_answer(200, sandbox_json(sandbox, base_url(exchange->head())));
}

}  // namespace

Task<http::Response> create_sandbox(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const std::string body, co_await read_request_body(exchange, kMaxBody));
  CAY_CO_TRY(const auto in, codec::parse_object(body, codec::Empty::kIsObject));
  codec::Fields fields(in);
  SandboxSpec spec;
  fields.read("name", spec.name);
  fields.read("snapshot", spec.snapshot);
  fields.read("labels", spec.labels, 64);
  fields.read("env", spec.run.env, 1024);
  CAY_CO_CHECK(fields.first_error());
  exchange->note_subject(creation_subject(spec.name, settings_subject(spec)));
  auto work = cay.sandboxes().create(exchange->principal(), std::move(spec), {});
  CAY_CO_TRY(const Sandbox made, co_await std::move(work));
  co_return shown(made, exchange);
}

Task<http::Response> get_sandbox(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox sandbox, co_await sandbox_of(cay, exchange));
  co_return shown(sandbox, exchange);
}

Task<http::Response> delete_sandbox(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(Sandbox sandbox, co_await sandbox_of(cay, exchange));
  CAY_CO_CHECK(co_await cay.sandboxes().remove(exchange->principal(), sandbox.id.get()));
  sandbox.state = SandboxState::kDeleting;
  auto out = sandbox_json(sandbox, base_url(exchange->head()));
  out["state"] = "destroyed";
  co_return json_answer(200, out);
}

}  // namespace cay::api::daytona
