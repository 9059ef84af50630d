#include "api/daytona/build.h"

#include <utility>

#include "api/common/answer.h"
#include "api/daytona/sandboxes_json.h"
#include "async/bytes.h"
#include "core/verbs/builds.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/snapshots.h"
#include "model/secret.h"

namespace cay::api::daytona {
namespace {

constexpr std::chrono::milliseconds kLook{30'000};
constexpr std::size_t kDigitsOfName = 24;

// One name for equal requests, so that an image is built once.
std::string snapshot_name_of(const NewSandbox& made) {
  std::string all = made.dockerfile;
  for (const std::string& hash : made.contexts) all += "\n" + hash;
  return "daytona-build/" + to_hex(hash_secret(all)).substr(0, kDigitsOfName);
}

bool is_usable(const SnapshotInfo& snapshot) {
  return snapshot.status == kSnapshotReady || snapshot.status == kSnapshotBuilding;
}

Task<SnapshotInfo> begin_build(std::shared_ptr<Control> control, Principal who,
                               const NewSandbox& made) {
  NewSnapshot snapshot;
  snapshot.name = snapshot_name_of(made);
  auto there = co_await control->cay.snapshots().get(who, snapshot.name);
  if (there && is_usable(*there)) co_return there;
  BuildRequest request;
  request.dockerfile = made.dockerfile;
  CAY_CO_TRY(auto context, control->contexts.joined(who.tenant, made.contexts));
  auto row = co_await control->cay.builds().build(who, std::move(snapshot), std::move(request),
                                                  std::move(context));
  co_return row;
}

void fail(Creation& creation, Creation::State state, std::string why) {
  creation.state = state;
  creation.error = std::move(why);
  creation.over_at = system_clock().wall();
}

Task<void> finish(std::shared_ptr<Control> control, Principal who,
                  std::shared_ptr<Creation> creation, core::CreateOptions options) {
  core::Cay& cay = control->cay;
  SnapshotInfo snapshot;
  for (;;) {
    CAY_CO_TRY(snapshot, co_await cay.snapshots().wait(who, creation->snapshot, kLook));
    if (creation->removed) co_return Result<void>();
    if (snapshot.status == kSnapshotReady) break;
    if (snapshot.status != kSnapshotBuilding) {
      fail(*creation, Creation::State::kBuildFailed, snapshot.status_message);
      co_return Result<void>();
    }
  }
  creation->state = Creation::State::kCreating;
  SandboxSpec spec = creation->spec;
  spec.id = creation->id;
  spec.snapshot = creation->snapshot.get();
  settle(spec, snapshot);
  CAY_CO_TRY(Sandbox made, co_await make_sandbox(cay, who, std::move(spec), options));
  if (made.id != creation->id) {
    co_return Error{Code::kAlreadyExists, "claim_in_use",
                    "sandbox " + made.name + " was made for the same thread meanwhile", 0};
  }
  if (creation->removed) {
    auto removed = co_await cay.sandboxes().remove(who, made.id.get());
    co_return removed;
  }
  creation->state = Creation::State::kMade;
  co_return Result<void>();
}

asio::awaitable<void> carry_on(std::shared_ptr<Control> control, Principal who,
                               std::shared_ptr<Creation> creation, core::CreateOptions options) {
  auto done = co_await finish(control, std::move(who), creation, options);
  if (!done) fail(*creation, Creation::State::kFailed, done.error().message);
  if (creation->removed || creation->state == Creation::State::kMade)
    control->creations.remove(creation->id);
}

}  // namespace

Task<BuiltSandbox> build_sandbox(std::shared_ptr<Control> control, ExchangePtr exchange,
                                 NewSandbox made) {
  const Principal who = exchange->principal();
  core::Cay& cay = control->cay;
  const std::string claim = made.spec.claim;
  if (auto same = control->creations.claimed(who, claim)) {
    CAY_CO_CHECK(check_name_of_thread(made.spec.name, row_of(*same).name));
    co_return BuiltSandbox{.creation = std::move(same)};
  }
  bool is_there = false;
  if (!claim.empty()) {
    SandboxQuery query;
    query.claim = claim;
    CAY_CO_TRY(const SandboxPage page, co_await cay.sandboxes().list(who, std::move(query)));
    is_there = !page.items.empty();
  }
  SnapshotInfo snapshot;
  if (!is_there) {
    CAY_CO_TRY(snapshot, co_await begin_build(control, who, made));
  }
  if (is_there || snapshot.status == kSnapshotReady) {
    made.spec.snapshot = snapshot.id.get();
    settle(made.spec, snapshot);
    CAY_CO_TRY(Sandbox sandbox,
               co_await make_sandbox(cay, who, std::move(made.spec), made.options));
    co_return BuiltSandbox{.sandbox = std::move(sandbox)};
  }
  // Another request may have begun it, while this one began the build.
  auto creation = control->creations.claimed(who, claim);
  if (!creation) {
    creation = std::make_shared<Creation>();
    creation->id = SandboxId(new_uuid());
    creation->tenant = who.tenant;
    creation->spec = std::move(made.spec);
    creation->state = Creation::State::kBuilding;
    creation->snapshot = snapshot.id;
    creation->created_at = system_clock().wall();
    control->creations.add(creation);
    control->config.background(carry_on(control, who, creation, made.options));
  }
  co_return BuiltSandbox{.creation = std::move(creation)};
}

codec::json::object creation_json(const Creation& creation, const std::string& base) {
  auto out = sandbox_json(row_of(creation), base);
  out["state"] = state_text(creation);
  if (!creation.error.empty()) out["errorReason"] = codec::text(creation.error);
  return out;
}

}  // namespace cay::api::daytona
