#include "vault/pass_response.h"

#include <utility>

#include "async/channel.h"
#include "async/scope.h"

namespace cay::vault {
namespace {

using Pieces = Channel<Result<Bytes>>;

// Reads in a coroutine of its own: to cancel a read after a pause would break TLS.
asio::awaitable<void> read_all(std::function<Task<Bytes>()>& next, Pieces& pieces) {
  for (;;) {
    auto piece = co_await next();
    const bool last = !piece || piece->empty();
    auto taken = co_await pieces.push(std::move(piece));
    if (last || !taken) co_return;
  }
}

Task<void> pass_all(ResponseScanner& scanner, Pieces& pieces,
                    std::function<Task<void>(Bytes)>& take) {
  for (;;) {
    if (scanner.holds_boundary()) {
      auto came = co_await pieces.ready_until(deadline_in(kPause));
      if (!came) {
        CAY_CO_CHECK(co_await take(scanner.release_to_boundary()));
      }
    }
    auto next = co_await pieces.pop();
    if (!next)
      co_return Error{Code::kInternal, "internal", "a stream that ended without its end", 0};
    CAY_CO_TRY(Bytes piece, *std::move(next));
    if (piece.empty()) break;
    auto fine = scanner.pass(std::move(piece));
    if (!fine) co_return reflected();
    if (!fine->empty()) {
      CAY_CO_CHECK(co_await take(*std::move(fine)));
    }
  }
  if (scanner.holds_back()) {
    CAY_CO_CHECK(co_await take(scanner.release()));
  }
  co_return Result<void>();
}

}  // namespace

Error reflected() {
  return {Code::kPermissionDenied, "secret_reflected",
          "the server's answer held the secret itself: it was cut", 0};
}

Task<void> pass(asio::any_io_executor loop, ResponseScanner& scanner,
                std::function<Task<Bytes>()> next, std::function<Task<void>(Bytes)> take) {
  Pieces pieces(loop, 1);
  Scope reading(loop);
  reading.spawn(read_all(next, pieces));
  auto passing = pass_all(scanner, pieces, take);
  auto passed = co_await reading.until(std::move(passing));
  co_return passed;
}

}  // namespace cay::vault
