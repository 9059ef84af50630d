#include "providers/cay_provider.h"

#include <utility>

#include "providers/cay_backend.h"
#include "providers/cay_calls.h"
#include "providers/claim_name.h"

namespace cay::providers {
namespace {

sdk::CreateOptions create_options(const SandboxRequest& request) {
  sdk::CreateOptions out;
  out.snapshot = request.snapshot;
  out.policy = request.policy;
  out.read_only_paths = request.paths.read_only;
  out.hidden_paths = request.paths.hidden;
  out.idle_ttl_s = request.idle_ttl_s;
  for (const auto& [key, value] : request.labels) out.labels[key] = value;
  return out;
}

class CayProvider final : public Provider {
 public:
  explicit CayProvider(const sdk::AsyncClient& client) : client_(client) {}

  Task<std::unique_ptr<Backend>> open(SandboxRequest request) override {
    if (!request.id.empty()) {
      auto info = co_await caught(client_.sandbox(request.id).info());
      if (!info) co_return std::move(info).error();
      auto backend = co_await backend_of(*std::move(info));
      co_return backend;
    }
    auto info = co_await ensured_or_made(request);
    if (!info && info.error().reason == "snapshot_not_found") {
      auto snapshot = co_await pulled(request.snapshot);
      if (!snapshot) co_return std::move(snapshot).error();
      request.snapshot = *std::move(snapshot);
      info = co_await ensured_or_made(std::move(request));
    }
    if (!info) co_return std::move(info).error();
    auto backend = co_await backend_of(*std::move(info));
    co_return backend;
  }

  Task<void> remove(std::string id) override {
    auto removed = co_await caught(client_.sandbox(std::move(id)).remove());
    if (!removed && removed.error().reason != "sandbox_not_found") {
      co_return std::move(removed).error();
    }
    co_return Result<void>();
  }

  Task<std::unique_ptr<Backend>> fork(std::string id, std::string claim) override {
    // A name is the claim of a copy: the tenant has one sandbox of it.
    sdk::ForkOptions options;
    if (!claim.empty()) options.names = {claim_name(claim)};
    const auto names = options.names;
    auto made = co_await caught(client_.sandbox(std::move(id)).fork(std::move(options)));
    if (!made && made.error().reason == "name_in_use") {
      auto info = co_await caught(client_.sandbox(names.front()).info());
      if (!info) co_return std::move(info).error();
      auto former = co_await backend_of(*std::move(info));
      co_return former;
    }
    if (!made) co_return std::move(made).error();
    if (made->empty()) {
      co_return Error{Code::kInternal, "unexpected_answer", "the daemon's fork has no sandbox", 0};
    }
    auto backend = co_await backend_of(std::move(made->front()));
    co_return backend;
  }

 private:
  Task<std::unique_ptr<Backend>> backend_of(sdk::SandboxInfo info) {
    auto backend = std::make_unique<CayBackend>(client_, info);
    auto begun = co_await backend->begin();
    if (!begun) co_return std::move(begun).error();
    co_return std::unique_ptr<Backend>(std::move(backend));
  }

  // Callers of the same claim get the same sandbox.
  Task<sdk::SandboxInfo> ensured_or_made(SandboxRequest request) {
    if (!request.claim.empty()) {
      auto found = co_await caught(client_.ensure(request.claim, create_options(request)));
      if (!found) co_return std::move(found).error();
      co_return std::move(found->info);
    }
    auto made = co_await caught(client_.create(create_options(request)));
    if (!made) co_return std::move(made).error();
    auto info = co_await caught(made->info());
    co_return info;
  }

  // The snapshot of an image that is not here yet.
  Task<std::string> pulled(std::string image) {
    sdk::PullOptions options;
    options.image = image;
    auto begun = co_await caught(client_.snapshot_store().pull(std::move(options)));
    if (!begun) co_return std::move(begun).error().while_doing("no snapshot or image " + image);
    auto ready = co_await caught(client_.snapshot_store().wait(begun->id));
    if (!ready) co_return std::move(ready).error().while_doing("no snapshot or image " + image);
    co_return std::move(ready->id);
  }

  sdk::AsyncClient client_;
};

}  // namespace

std::unique_ptr<Provider> make_cay_provider(const sdk::AsyncClient& client) {
  return std::make_unique<CayProvider>(client);
}

}  // namespace cay::providers
