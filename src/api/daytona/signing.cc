#include "api/daytona/signing.h"

#include "api/daytona/lookup.h"
#include "api/daytona/notes.h"
#include "core/verbs/sandboxes.h"
#include "model/secret.h"

namespace cay::api::daytona {
namespace {

Task<http::Response> keep_new_key(core::Cay& cay, ExchangePtr exchange, std::string id) {
  std::string key = new_secret();
  SandboxPatch patch;
  patch.notes[kSigningKeyNote] = key;
  CAY_CO_TRY(const Sandbox changed, co_await cay.sandboxes().update(
                                        exchange->principal(), std::move(id), std::move(patch)));
  co_return json_answer(200, codec::text(note_of(changed, kSigningKeyNote)));
}

}  // namespace

Task<SignedAccess> signing_access(core::Cay& cay, std::string sandbox) {
  const Error unknown{Code::kNotFound, "sandbox_not_found", "Sandbox not found", 0};
  const SandboxId id(sandbox);
  const auto tenant = cay.sandboxes().tenant_of(id);
  if (!tenant) co_return unknown;
  Principal who{.tenant = *tenant, .key_name = "signed-url"};
  who.scope = KeyScope::kUse;
  who.only = id;
  CAY_CO_TRY(const Sandbox found, co_await cay.sandboxes().get(who, std::move(sandbox)));
  std::string key = note_of(found, kSigningKeyNote);
  if (key.empty()) co_return unknown;
  co_return SignedAccess{std::move(who), std::move(key)};
}

Task<http::Response> get_signing_key(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox found, co_await sandbox_of(cay, exchange));
  std::string key = note_of(found, kSigningKeyNote);
  if (!key.empty()) co_return json_answer(200, codec::text(key));
  auto made = co_await keep_new_key(cay, exchange, found.id.get());
  co_return made;
}

Task<http::Response> rotate_signing_key(core::Cay& cay, ExchangePtr exchange) {
  CAY_CO_TRY(const Sandbox found, co_await sandbox_of(cay, exchange));
  auto made = co_await keep_new_key(cay, exchange, found.id.get());
  co_return made;
}

}  // namespace cay::api::daytona
