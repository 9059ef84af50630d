#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {

Result<void> check_fits(wire::Type type, const std::string& payload) {
  const std::uint32_t most =
      type == wire::Type::kStart ? wire::kMaxStartPayload : wire::kMaxPayload;
  if (payload.size() <= most) return {};
  return Error{Code::kInvalidArgument, "request_too_large",
               "the request takes " + std::to_string(payload.size()) + " bytes, at most " +
                   std::to_string(most) + " fit",
               0};
}

Task<std::unique_ptr<Channel>> ask(std::shared_ptr<PersistentLink> line, wire::Type type,
                                   std::string payload) {
  CAY_CO_CHECK(check_fits(type, payload));
  CAY_CO_TRY(auto link, co_await line->link(kLinkLimit));
  auto channel = link->open();
  channel->send(type, std::move(payload));
  co_return std::move(channel);
}

Task<wire::Frame> call(std::shared_ptr<PersistentLink> line, wire::Type type, std::string payload,
                       Repeat repeat, Millis limit) {
  const Deadline deadline = after(limit);
  for (int tries = 1;; ++tries) {
    std::string copy = payload;
    CAY_CO_TRY(auto channel, co_await ask(line, type, std::move(copy)));
    auto answer = co_await channel->next(deadline);
    if (answer) {
      channel->finish();
      co_return std::move(answer);
    }
    const bool again = repeat == Repeat::kSafe && link_lost(answer.error()) && tries < kTries;
    if (!again) co_return std::move(answer).error();
  }
}

Task<void> call_ok(std::shared_ptr<PersistentLink> line, wire::Type type, std::string payload,
                   Repeat repeat, Millis limit) {
  CAY_CO_TRY(const auto answer,
             co_await call(std::move(line), type, std::move(payload), repeat, limit));
  if (!is(answer, wire::Type::kOk)) co_return unexpected_frame(answer, "ok");
  co_return Result<void>{};
}

}  // namespace cay::runtime
