// A model that takes a second one where the first one fails.
#include <memory>
#include <utility>

#include "agent/llm/model.h"

namespace cay::agent {
namespace {

// Another model may carry out the same request.
bool is_worth_another(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kExhausted ||
         error.code == Code::kDeadlineExceeded || error.code == Code::kUnauthenticated;
}

class Fallback final : public Model {
 public:
  Fallback(std::unique_ptr<Model> first, std::unique_ptr<Model> next)
      : first_(std::move(first)), next_(std::move(next)) {}

  Task<ModelReply> complete(ModelRequest request, OnDelta on_delta) override {
    auto any = std::make_shared<bool>(false);
    OnDelta watched = [any, on_delta](const Delta& delta) {
      *any = delta.kind != Delta::Kind::kRestarted;
      if (on_delta) on_delta(delta);
    };
    auto got = co_await first_->complete(request, std::move(watched));
    if (got || !is_worth_another(got.error())) co_return got;
    if (*any && on_delta) on_delta(Delta{Delta::Kind::kRestarted, {}});
    auto second = co_await next_->complete(std::move(request), std::move(on_delta));
    if (second) co_return second;
    Error error = std::move(second).error();
    error.message = got.error().message + ". The fallback failed as well: " + error.message;
    co_return error;
  }
  const ModelProfile& profile() const override { return first_->profile(); }
  const std::string& name() const override { return first_->name(); }

 private:
  std::unique_ptr<Model> first_, next_;
};

}  // namespace

std::unique_ptr<Model> with_fallback(std::unique_ptr<Model> first, std::unique_ptr<Model> next) {
  return std::make_unique<Fallback>(std::move(first), std::move(next));
}

}  // namespace cay::agent
