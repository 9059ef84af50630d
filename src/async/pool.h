// Pool: threads for work that blocks (SQLite, hashing, untar), awaited from the loop.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "async/task.h"

namespace cay {

class Pool {
 public:
  explicit Pool(unsigned threads);
  ~Pool();  // waits for the work that has begun; queued work is dropped
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Runs `work` on a thread and resumes the caller on its own loop. Throws what work threw.
  // Cancelling the caller stops neither the work nor the wait for it, since work may use the
  // caller's data. The caller is cancelled at its next wait.
  asio::awaitable<void> run(std::function<void()> work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same for work with a result.
template <class Fn>
auto run_on_pool(Pool& pool, Fn work) -> asio::awaitable<std::invoke_result_t<Fn>> {
  using T = std::invoke_result_t<Fn>;
  auto shared = std::make_shared<Fn>(std::move(work));  // std::function wants copies
  if constexpr (std::is_void_v<T>) {
    std::function<void()> job = [shared] { (*shared)(); };
    co_await pool.run(std::move(job));
  } else {
    auto out = std::make_shared<std::optional<T>>();
    std::function<void()> job = [shared, out] { out->emplace((*shared)()); };
    co_await pool.run(std::move(job));
    co_return std::move(**out);
  }
}

}  // namespace cay
