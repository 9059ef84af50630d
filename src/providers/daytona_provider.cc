#include "providers/daytona_provider.h"

#include <utility>

#include "client/json_read.h"
#include "providers/claim_name.h"
#include "providers/daytona_api.h"
#include "providers/daytona_backend.h"

namespace cay::providers {
namespace {

namespace json = codec::json;

constexpr const char* kClaimLabel = "cay-claim";

json::object daytona_body(const SandboxRequest& request, const std::string& target) {
  constexpr std::int64_t kMinute = 60;
  json::object labels;
  for (const auto& [key, value] : request.labels) labels[key] = codec::text(value);
  json::object body;
  if (!request.claim.empty()) {
    body["name"] = claim_name(request.claim);
    labels[kClaimLabel] = codec::text(request.claim);
  }
  if (!request.snapshot.empty()) body["snapshot"] = codec::text(request.snapshot);
  if (!target.empty()) body["target"] = codec::text(target);
  if (request.idle_ttl_s) body["autoStopInterval"] = (*request.idle_ttl_s + kMinute - 1) / kMinute;
  body["labels"] = std::move(labels);
  return body;
}

bool is_missing_snapshot(const Error& error) {
  return error.message.find("napshot") != std::string::npos &&
         error.message.find("not found") != std::string::npos;
}

class DaytonaProvider final : public Provider {
 public:
  explicit DaytonaProvider(std::shared_ptr<DaytonaApi> api) : api_(std::move(api)) {}

  Task<std::unique_ptr<Backend>> open(SandboxRequest request) override {
    auto refused = refuse_paths(request, "daytona");
    if (!refused) co_return std::move(refused).error();
    if (!request.policy.empty()) {
      co_return Error{Code::kUnsupported, "verb_unsupported",
                      "Daytona has no policies by name: leave the policy out, and set the "
                      "sandbox's networkAllowList or domainAllowList there",
                      0};
    }
    auto box = co_await found_or_made(std::move(request));
    if (!box) co_return std::move(box).error();
    auto backend = co_await DaytonaBackend::open(api_, *std::move(box));
    co_return backend;
  }

  Task<void> remove(std::string id) override {
    auto removed = co_await api_->call("DELETE", daytona_target(id));
    if (!removed && removed.error().code != Code::kNotFound) co_return std::move(removed).error();
    co_return Result<void>();
  }

 private:
  Task<json::object> found_or_made(SandboxRequest request) {
    if (!request.id.empty()) {
      auto box = co_await api_->ready(request.id);
      co_return box;
    }
    const std::string name = request.claim.empty() ? "" : claim_name(request.claim);
    if (!name.empty()) {
      auto box = co_await api_->ready(name);
      if (box || box.error().code != Code::kNotFound) co_return box;
    }
    auto made = co_await made_of(std::move(request));
    // Another caller of the same claim was faster.
    if (!made && !name.empty() && made.error().code == Code::kAlreadyExists) {
      auto box = co_await api_->ready(name);
      co_return box;
    }
    if (!made) co_return made;
    auto box = co_await api_->ready(client::string_in(*made, "id"));
    co_return box;
  }

  // If no snapshot has the name, it is taken for the name of an image.
  Task<json::object> made_of(SandboxRequest request) {
    auto body = daytona_body(request, api_->settings().target);
    auto made = co_await api_->call("POST", "/sandbox", codec::write(body));
    if (made || request.snapshot.empty() || !is_missing_snapshot(made.error())) co_return made;
    body.erase("snapshot");
    json::object build;
    build["dockerfileContent"] = codec::text("FROM " + request.snapshot + "\n");
    body["buildInfo"] = std::move(build);
    made = co_await api_->call("POST", "/sandbox", codec::write(body));
    co_return made;
  }

  std::shared_ptr<DaytonaApi> api_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_daytona_provider(asio::any_io_executor executor,
                                                        DaytonaSettings settings) {
  CAY_TRY(auto api, DaytonaApi::create(std::move(executor), std::move(settings)));
  return std::unique_ptr<Provider>(std::make_unique<DaytonaProvider>(std::move(api)));
}

}  // namespace cay::providers
