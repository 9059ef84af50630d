// pass: sends what a ResponseScanner releases of a server's response to the sandbox.
#pragma once
#include <functional>

#include "async/task.h"
#include "base/clock.h"
#include "vault/response_scanner.h"

namespace cay::vault {

// After a pause of this length what stands before the last message boundary is released. So a
// stream of events flows on, each event that much later. The rest waits for more bytes or the end.
inline constexpr Millis kPause{20};

// Reads pieces from `next` (an empty one is the end) and gives `take` what may go on.
//
// The next piece is read while `take` handles the one before. An error of either is the result, and
// what is held back is dropped. kPermissionDenied (secret_reflected): the response has a secret.
Task<void> pass(asio::any_io_executor loop, ResponseScanner& scanner,
                std::function<Task<Bytes>()> next, std::function<Task<void>(Bytes piece)> take);

Error reflected();

}  // namespace cay::vault
