// let_through: what a server sends goes on to a sandbox for as long as no secret is in it; an event, line or message
// that is whole without waiting for more than a moment for what might follow.
#pragma once
#include <functional>

#include "async/task.h"
#include "base/clock.h"
#include "vault/watched.h"

namespace cay::vault {

// What is held back goes on up to the last seam when nothing has come for so long: a stream of events flows on, each
// that much later. What is behind it waits for more, or for the end.
inline constexpr Millis kSilence{20};

// `next`: the next piece, an empty one at the end; it is asked for the next while `take` has one, and cancelled where
// the end is another. An error of either is the result, and what is held back then is dropped; kPermissionDenied
// (secret_reflected): a secret came.
Task<void> let_through(asio::any_io_executor loop, Watched& watched, std::function<Task<Bytes>()> next,
                       std::function<Task<void>(Bytes piece)> take);

Error reflected();

}  // namespace cay::vault
