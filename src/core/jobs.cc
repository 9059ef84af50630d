#include "core/jobs.h"

#include <boost/asio/co_spawn.hpp>
#include <exception>

namespace cay::core {

Jobs::Jobs(asio::any_io_executor loop, std::function<void(std::string)> warn)
    : loop_(loop), state_(std::make_shared<State>(loop)) {
  state_->warn = std::move(warn);
  state_->idle.set();
}

void Jobs::warn(const std::string& sentence) const {
  if (state_->warn) state_->warn(sentence);
}

void Jobs::spawn(Task<void> work) {
  auto state = state_;
  ++state->running;
  state->idle.reset();
  asio::co_spawn(loop_, std::move(work), [state](std::exception_ptr thrown, Result<void> result) {
    if (--state->running == 0) state->idle.set();
    if (!state->warn) return;
    if (thrown) {
      try {
        std::rethrow_exception(thrown);
      } catch (const std::exception& fault) {
        state->warn(std::string("a job ended by an exception: ") + fault.what());
      }
    } else if (!result) {
      state->warn(result.error().message);
    }
  });
}

asio::awaitable<bool> Jobs::wait_idle(Event::Deadline deadline) {
  auto state = state_;
  auto idle = co_await state->idle.wait_until(deadline);
  co_return idle;
}

}  // namespace cay::core
