#include "http/client_watch.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "async/cut.h"
#include "async/deadline.h"
#include "async/scope.h"
#include "base/entered.h"
#include "base/hang_up.h"

namespace cay::http {
namespace {

constexpr Millis kFirstLook{20};
constexpr Millis kLook{200};

struct AtWork {
  Channel& channel;
  const BodyReader& body;
  std::uint64_t since;  // which look was the last before it
  Cut handler{};
  std::optional<Scope> watching{};  // since a look found it still at work
};

// Ends when the peer has closed its side and nothing of a body can come any more.
asio::awaitable<void> until_gone(const AtWork& at) {
  auto& socket = at.channel.next_layer().socket();
  while (!at.body.is_over()) {  // while the handler reads the body it sees the end itself; it may
                                // wait for others instead
    if (is_broken(socket.native_handle())) co_return;
    co_await sleep_for(kLook);
  }
  // Readable bytes of TLS need not be the end: a closing alert, a session's renewal, a pipelined
  // request.
  while (at.channel.secured() != nullptr && !has_hung_up(socket.native_handle())) {
    co_await sleep_for(kLook);
  }
  if (at.channel.secured() != nullptr) co_return;
  ErrorCode error;
  co_await socket.async_wait(asio::socket_base::wait_read, to(error));
  // The handler is done, or we broke it off. To go on would throw.
  if (error == asio::error::operation_aborted || !socket.is_open()) co_return;
  if (!error) {
    char byte = 0;
    socket.non_blocking(true, error);
    const auto got = socket.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, error);
    if (error == asio::error::eof || (error && error != asio::error::would_block) ||
        (!error && got == 0))
      co_return;
  }
  // A pipelined request: it waits its turn.
  asio::steady_timer never(socket.get_executor(), asio::steady_timer::time_point::max());
  co_await never.async_wait(to(error));
}

asio::awaitable<void> cut_when_gone(AtWork& at) {
  co_await until_gone(at);
  at.handler.now();
}

}  // namespace

struct ClientWatch::State : std::enable_shared_from_this<State> {
  explicit State(asio::any_io_executor executor) : loop(executor), looking(executor) {}

  // Looks at those at work that no one watches yet, for as long as there are any.
  asio::awaitable<void> look() {
    const auto self = shared_from_this();
    while (!unwatched.empty()) {
      co_await sleep_for(kFirstLook);
      std::erase_if(unwatched, [this](AtWork* at) {
        if (at->since == looks) return false;  // it has hardly begun
        at->watching.emplace(loop);
        at->watching->spawn(cut_when_gone(*at));
        return true;
      });
      ++looks;
    }
    is_looking = false;
  }

  asio::any_io_executor loop;
  std::set<AtWork*> unwatched;
  std::uint64_t looks = 0;
  bool is_looking = false;
  Scope looking;
};

ClientWatch::ClientWatch(asio::any_io_executor loop)
    : state_(std::make_shared<State>(std::move(loop))) {}

ClientWatch::~ClientWatch() { state_->looking.cancel(); }

asio::awaitable<void> ClientWatch::run(Channel& channel, const BodyReader& body,
                                       asio::awaitable<void> work) {
  const auto state = state_;
  AtWork here{.channel = channel, .body = body, .since = state->looks};
  const Entered at_work(state->unwatched, &here);
  if (!std::exchange(state->is_looking, true)) state->looking.spawn(state->look());
  std::exception_ptr failure;
  try {
    co_await here.handler.run(std::move(work));
  } catch (...) {
    failure = std::current_exception();
  }
  if (here.watching) {
    here.watching->cancel();
    co_await asio::this_coro::throw_if_cancelled(false);  // or a cancelled one could not await
    co_await here.watching->join();
    co_await asio::this_coro::throw_if_cancelled(true);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cay::http
