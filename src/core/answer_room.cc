#include "core/answer_room.h"

namespace cay::core {

Result<void> AnswerRoom::Part::check(std::uint64_t bytes) const {
  if (bytes <= bytes_) return {};
  const auto of_tenant = state_->of_tenant.find(tenant_);
  const std::uint64_t mine = of_tenant == state_->of_tenant.end() ? 0 : of_tenant->second;
  const std::uint64_t others = state_->held - mine;
  const std::uint64_t left = others < state_->most ? state_->most - others : 0;
  if (mine - bytes_ + bytes <= left / 2) return {};
  return Error{Code::kExhausted, kTooManyAnswers,
               "your answers that are being made, or that nobody has read yet, are too large "
               "together: read them, and try again",
               0};
}

Result<void> AnswerRoom::Part::need(std::uint64_t bytes) {
  CAY_CHECK(check(bytes));
  hold(bytes);
  return {};
}

void AnswerRoom::Part::hold(std::uint64_t bytes) {
  if (bytes == bytes_) return;
  state_->held += bytes - bytes_;
  auto& mine = state_->of_tenant[tenant_];
  mine += bytes - bytes_;
  if (mine == 0) state_->of_tenant.erase(tenant_);
  bytes_ = bytes;
}

}  // namespace cay::core
