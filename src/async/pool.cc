// Pool: a thread_pool; completions are posted back to the executor of the waiting coroutine.
#include "async/pool.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cay {

struct Pool::Impl {
  explicit Impl(unsigned threads) : threads(threads) {}
  asio::thread_pool threads;
};

Pool::Pool(unsigned threads) : impl_(std::make_unique<Impl>(threads)) {}

Pool::~Pool() {
  impl_->threads.stop();
  impl_->threads.join();
}

asio::awaitable<void> Pool::run(std::function<void()> work) {
  auto* threads = &impl_->threads;
  auto start = [threads, work = std::move(work)](auto handler) mutable {
    auto home = asio::get_associated_executor(handler);
    auto guard = asio::make_work_guard(home);  // the loop must not end while a thread works for it
    auto job = [work = std::move(work), handler = std::move(handler), home,
                guard = std::move(guard)]() mutable {
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      work = nullptr;
      // Moved: from here on the exception is the loop's alone, to read and to free.
      auto resume = [handler = std::move(handler), failure = std::move(failure)]() mutable {
        std::move(handler)(std::move(failure));
      };
      asio::post(home, std::move(resume));
    };
    asio::post(*threads, std::move(job));
  };
  // No cancellation slot is looked at: see the header.
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(std::exception_ptr)>(
      std::move(start), asio::use_awaitable);
}

}  // namespace cay
