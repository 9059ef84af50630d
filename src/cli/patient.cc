#include "cli/patient.h"

#include <thread>

namespace cay::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRetryEvery = std::chrono::milliseconds(200);
constexpr auto kRetryFor = std::chrono::seconds(60);  // a daemon that restarts

}  // namespace

Pause sleeping() {
  return [](Clock::time_point until) {
    std::this_thread::sleep_until(until);
    return true;
  };
}

std::optional<std::string> patient_get(Context& at, const std::string& target, const Pause& pause) {
  return patient_request(at, "GET", target, "", pause);
}

std::optional<std::string> patient_request(Context& at, const std::string& method,
                                           const std::string& target, const std::string& body,
                                           const Pause& pause) {
  const auto give_up = Clock::now() + kRetryFor;
  for (;;) {
    try {
      return at.client.request(method, target, body);
    } catch (const ApiError& error) {
      if (error.code() != ErrorCode::kUnavailable || Clock::now() >= give_up) throw;
    }
    if (!pause(Clock::now() + kRetryEvery)) return std::nullopt;
  }
}

}  // namespace cay::cli
