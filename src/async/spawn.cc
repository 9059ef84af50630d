// spawn: the one place where a coroutine is let go.
#include "async/spawn.h"

#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <exception>

#include "async/event.h"

namespace cay {

void spawn(asio::any_io_executor executor, std::string what, asio::awaitable<void> body) {
  auto ended = [what = std::move(what)](std::exception_ptr error) {
    if (!error || is_cancellation(error)) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      spdlog::error("{}: {}", what, e.what());
    } catch (...) {
      spdlog::error("{}: an exception that is no std::exception", what);
    }
  };
  asio::co_spawn(std::move(executor), std::move(body), std::move(ended));
}

}  // namespace cay
