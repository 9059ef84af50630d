#include "async/until_set.h"

#include <cerrno>

#include "async/cut.h"
#include "async/piped.h"
#include "async/scope.h"

namespace cay {
namespace {

constexpr Millis kLook{500};

struct Passing {
  explicit Passing(asio::any_io_executor executor) : busy(executor), gone(std::move(executor)) {}
  void begin_write() {
    writing = true;
    if (!busy.is_set()) busy.set();
  }
  void end_write() {
    writing = false;
    ++written;
  }
  bool unreadable = false;  // it is `from` that failed
  bool writing = false;
  std::uint64_t written = 0;  // pieces
  Event busy;                 // something has been written of late
  Event gone;
};

// Sets `gone` when `from` has, while one write to the other lasts. (Where it is read its end is
// seen at once.) Without writes it costs no timer.
asio::awaitable<void> watch_for_its_end(PipedStream& from, Passing& passing) {
  for (;;) {
    co_await passing.busy.wait();
    for (bool idle = false; !idle;) {
      const auto seen = passing.written;
      co_await sleep_for(kLook);
      if (passing.written != seen) continue;
      if (passing.writing && from.has_gone()) {
        passing.unreadable = true;
        passing.gone.set();
        co_return;
      }
      idle = !passing.writing;
    }
    passing.busy.reset();
  }
}

Task<void> pass(ByteStream& from, ByteStream& to, Passing& passing) {
  auto* piped_from = dynamic_cast<PipedStream*>(&from);
  auto* piped_to = dynamic_cast<PipedStream*>(&to);
  for (;;) {
    passing.unreadable = true;
    if (piped_from != nullptr && piped_to != nullptr && piped_from->can_splice() &&
        piped_to->can_splice()) {
      CAY_CO_TRY(KernelPipe pipe, co_await piped_from->read_piped(KernelPipe::kMost));
      passing.unreadable = false;
      if (pipe.empty()) break;
      passing.begin_write();
      CAY_CO_CHECK(co_await piped_to->write_piped(std::move(pipe)));
      passing.end_write();
      continue;
    }
    CAY_CO_TRY(Bytes bytes, co_await from.read());
    passing.unreadable = false;
    if (bytes.empty()) break;
    passing.begin_write();
    CAY_CO_CHECK(co_await to.write(std::move(bytes)));
    passing.end_write();
  }
  auto shut = co_await to.shut_write();
  co_return shut;
}

Task<void> pass_watched(ByteStream& from, ByteStream& to, Passing& passing) {
  auto body = pass(from, to, passing);
  auto* piped = dynamic_cast<PipedStream*>(&from);
  if (piped == nullptr) {
    auto passed = co_await std::move(body);
    co_return passed;
  }
  Scope watching(co_await asio::this_coro::executor);
  watching.spawn(watch_for_its_end(*piped, passing));
  auto cut_short =
      until_set(std::move(body), passing.gone,
                Error{Code::kUnavailable, "connection_lost", "the connection broke", 0});
  auto passed = co_await watching.until(std::move(cut_short));
  co_return passed;
}

struct Splice {
  explicit Splice(asio::any_io_executor executor) : over(std::move(executor)) {}
  Event over;
  int ended = 0;
  Result<void> result;
};

asio::awaitable<void> pass_one(ByteStream& from, ByteStream& to, Splice& state) {
  Passing passing(state.over.executor());
  auto passed = co_await pass_watched(from, to, passing);
  // The reader reports best why a connection broke. It may never report one that was given up on
  // (base/bounded_call.h, or the kernel after TCP's own limits).
  const bool over = !passed && (passing.unreadable || passed.error().os_errno == ETIMEDOUT);
  if (over || (!passed && state.result)) state.result = std::move(passed);
  if (++state.ended == 2 || over) state.over.set();
}

}  // namespace

asio::awaitable<void> first_of(asio::awaitable<void> body, Event& cut) {
  Cut work;
  const auto watch = cut.when_set([&work] { work.now(); });
  std::exception_ptr failure;
  try {
    co_await work.run(std::move(body));
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && !is_cancellation(failure)) std::rethrow_exception(failure);
}

Task<void> pass_on(ByteStream& from, ByteStream& to) {
  Passing passing(co_await asio::this_coro::executor);
  auto passed = co_await pass_watched(from, to, passing);
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
