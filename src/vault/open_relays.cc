#include "vault/open_relays.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace cay::vault {

asio::awaitable<void> OpenRelays::judge(std::string sandbox_id, Now now) {
  const auto loop = co_await asio::this_coro::executor;
  Place last{std::move(sandbox_id), nullptr};
  for (std::size_t judged = 1;; ++judged) {
    // Looked for each time: one that is cut may take others with it, and others end while we wait.
    const auto next = all_.upper_bound(last);
    if (next == all_.end() || next->sandbox_id != last.sandbox_id) co_return;
    last.one = next->one;
    const auto granted = now();
    if (!last.one->may_stay(granted.get())) last.one->cut();
    if (judged % kInARow == 0) {
      co_await asio::post(loop, asio::use_awaitable);
    }
  }
}

}  // namespace cay::vault
