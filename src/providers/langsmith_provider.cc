#include "providers/langsmith_provider.h"

#include <algorithm>
#include <utility>

#include "client/json_read.h"
#include "providers/claim_name.h"
#include "providers/langsmith_api.h"
#include "providers/langsmith_backend.h"

namespace cay::providers {
namespace {

namespace json = codec::json;

bool is_uuid(std::string_view text) {
  return text.size() == 36 && text[8] == '-' && text[13] == '-' &&
         text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

json::object create_body(const SandboxRequest& request) {
  constexpr std::int64_t kMinute = 60;
  json::object body{{"wait_for_ready", true}, {"timeout", 60}};
  if (!request.claim.empty()) body["name"] = claim_name(request.claim);
  if (!request.snapshot.empty()) {
    body[is_uuid(request.snapshot) ? "snapshot_id" : "snapshot_name"] =
        codec::text(request.snapshot);
  }
  if (request.idle_ttl_s) {  // in whole minutes
    body["idle_ttl_seconds"] = (*request.idle_ttl_s + kMinute - 1) / kMinute * kMinute;
  }
  if (!request.labels.empty()) {
    json::object labels;
    for (const auto& [key, value] : request.labels) labels[key] = codec::text(value);
    body["labels"] = std::move(labels);
  }
  return body;
}

class LangSmithProvider final : public Provider {
 public:
  explicit LangSmithProvider(std::shared_ptr<LangSmithApi> api) : api_(std::move(api)) {}

  Task<std::unique_ptr<Backend>> open(SandboxRequest request) override {
    auto refused = refuse_paths(request, "langsmith");
    if (!refused) co_return std::move(refused).error();
    if (!request.policy.empty()) {
      co_return Error{Code::kUnsupported, "verb_unsupported",
                      "LangSmith has no policies by name: leave the policy out, and set the "
                      "sandbox's proxy_config there",
                      0};
    }
    auto box = co_await found_or_made(std::move(request));
    if (!box) co_return std::move(box).error();
    auto backend = co_await LangSmithBackend::open(api_, *std::move(box));
    co_return backend;
  }

  Task<void> remove(std::string id) override {
    auto removed = co_await api_->call("DELETE", "/boxes/" + http::encode_segment(id));
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
    auto made = co_await api_->call("POST", "/boxes", codec::write(create_body(request)));
    // Another caller of the same claim was faster.
    if (!made && !name.empty() && made.error().code == Code::kAlreadyExists) {
      auto box = co_await api_->ready(name);
      co_return box;
    }
    co_return made;
  }

  std::shared_ptr<LangSmithApi> api_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_langsmith_provider(asio::any_io_executor executor,
                                                          LangSmithSettings settings) {
  CAY_TRY(auto api, LangSmithApi::create(std::move(executor), std::move(settings)));
  return std::unique_ptr<Provider>(std::make_unique<LangSmithProvider>(std::move(api)));
}

}  // namespace cay::providers
