#include "async/until_set.h"

#include "async/piped.h"
#include "async/scope.h"

namespace cay {
namespace {

asio::awaitable<void> guarded(asio::awaitable<void> body, std::shared_ptr<std::exception_ptr> failure) {
  try {
    co_await std::move(body);
  } catch (...) {
    *failure = std::current_exception();
  }
}

// `unreadable`: it is `from` that failed.
Task<void> pass(ByteStream& from, ByteStream& to, bool& unreadable) {
  auto* piped_from = dynamic_cast<PipedStream*>(&from);
  auto* piped_to = dynamic_cast<PipedStream*>(&to);
  for (;;) {
    unreadable = true;
    if (piped_from != nullptr && piped_to != nullptr && piped_from->can_splice() && piped_to->can_splice()) {
      CAY_CO_TRY(KernelPipe pipe, co_await piped_from->read_piped(KernelPipe::kMost));
      unreadable = false;
      if (pipe.empty()) break;
      CAY_CO_CHECK(co_await piped_to->write_piped(std::move(pipe)));
      continue;
    }
    CAY_CO_TRY(Bytes bytes, co_await from.read());
    unreadable = false;
    if (bytes.empty()) break;
    CAY_CO_CHECK(co_await to.write(std::move(bytes)));
  }
  auto shut = co_await to.shut_write();
  co_return shut;
}

struct Splice {
  explicit Splice(asio::any_io_executor executor) : over(std::move(executor)) {}
  Event over;
  int ended = 0;
  Result<void> result;
};

asio::awaitable<void> pass_one(ByteStream& from, ByteStream& to, Splice& state) {
  bool unreadable = false;
  auto passed = co_await pass(from, to, unreadable);
  // What broke tells so best where it is read.
  if (!passed && (unreadable || state.result)) state.result = std::move(passed);
  if (++state.ended == 2 || (!state.result && unreadable)) state.over.set();
}

}  // namespace

asio::awaitable<void> first_of(asio::awaitable<void> body, Event& cut) {
  using namespace asio::experimental::awaitable_operators;  // NOLINT(google-build-using-namespace)
  auto failure = std::make_shared<std::exception_ptr>();
  auto work = guarded(std::move(body), failure);
  auto cutting = cut.wait();
  co_await (std::move(work) || std::move(cutting));
  if (*failure && !is_cancellation(*failure)) std::rethrow_exception(*failure);
}

Task<void> pass_on(ByteStream& from, ByteStream& to) {
  bool unreadable = false;
  auto passed = co_await pass(from, to, unreadable);
  co_return passed;
}

Task<void> splice(ByteStream& one, ByteStream& other) {
  const auto executor = co_await asio::this_coro::executor;
  Splice state(executor);
  Scope passing(executor);
  passing.spawn(pass_one(one, other, state));
  passing.spawn(pass_one(other, one, state));
  auto over = state.over.wait();
  co_await passing.until(std::move(over));
  co_return std::move(state.result);
}

}  // namespace cay
