// spawn: starts a coroutine that nobody joins. For work that lives as long as the program or ends
// by itself; everything else belongs to a Scope.
#pragma once
#include <string>

#include "async/task.h"

namespace cay {

// An exception of `body` is logged as an error of `what`. Cancellation is not logged.
void spawn(asio::any_io_executor executor, std::string what, asio::awaitable<void> body);

}  // namespace cay
