#include "runtime/keeper/keeper_state.h"

#include <string>
#include <utility>

#include "runtime/keeper/convert.h"
#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {

Task<core::SandboxStats> KeeperState::stats() {
  auto payload = std::string();
  CAY_CO_TRY(const auto frame,
             co_await call(line_, wire::Type::kStats, std::move(payload), Repeat::kSafe));
  CAY_CO_TRY(const auto message,
             decode_as<wire::StatsMsg>(frame, wire::Type::kStatsReply, "stats"));
  co_return to_model(message);
}

Task<void> KeeperState::pause() {
  auto payload = std::string();
  auto done = co_await call_ok(line_, wire::Type::kPause, std::move(payload), Repeat::kSafe);
  co_return done;
}

Task<void> KeeperState::resume() {
  auto payload = std::string();
  auto done = co_await call_ok(line_, wire::Type::kResume, std::move(payload), Repeat::kSafe);
  co_return done;
}

}  // namespace cay::runtime
