// spawn: starts a coroutine that nobody joins. For work that lives as long as the program or ends
// by itself; everything else belongs to a Scope.
#pragma once
#include <string>

#include "async/task.h"

namespace cay {

// What it throws is logged as an error of `what` (its being cancelled is not).
void spawn(asio::any_io_executor executor, std::string what, asio::awaitable<void> body);

}  // namespace cay
