#include "providers/cay_provider.h"

#include <utility>

#include "client/json_read.h"
#include "client/json_write.h"
#include "providers/cay_backend.h"
#include "providers/cay_calls.h"

namespace cay::providers {
namespace {

sdk::CreateOptions create_options(const SandboxRequest& request) {
  sdk::CreateOptions out;
  out.snapshot = request.snapshot;
  out.policy = request.policy;
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
    if (!request.claim.empty()) {
      auto info = co_await ensure(std::move(request));
      if (!info) co_return std::move(info).error();
      auto backend = co_await backend_of(*std::move(info));
      co_return backend;
    }
    auto made = co_await caught(client_.create(create_options(request)));
    if (!made) co_return std::move(made).error();
    auto info = co_await caught(made->info());
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

  Task<std::unique_ptr<Backend>> fork(std::string id) override {
    auto made = co_await caught(client_.sandbox(std::move(id)).fork());
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
  Task<sdk::SandboxInfo> ensure(SandboxRequest request) {
    auto body = client::create_body(create_options(request));
    body["claim"] = codec::text(request.claim);
    auto answer = co_await caught(
        client_.request("POST", "/api/v1/sandboxes/ensure", codec::write(std::move(body))));
    if (!answer) co_return std::move(answer).error();
    CAY_CO_TRY(const auto found, codec::parse_object(*answer));
    co_return client::sandbox_from(found);
  }

  sdk::AsyncClient client_;
};

}  // namespace

std::unique_ptr<Provider> make_cay_provider(const sdk::AsyncClient& client) {
  return std::make_unique<CayProvider>(client);
}

}  // namespace cay::providers
