#include "async/cut.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace cay {

struct Cut::State {
  asio::cancellation_signal signal;
  bool runs = false;
};

Cut::Cut() : state_(std::make_shared<State>()) {}

void Cut::now() {
  const auto state = state_;
  if (state->runs) state->signal.emit(asio::cancellation_type::terminal);
}

asio::awaitable<void> Cut::run(asio::awaitable<void> body) {
  const auto executor = co_await asio::this_coro::executor;
  const auto state = state_;
  const auto start = [&](auto caller) {
    state->runs = true;
    const auto slot = asio::get_associated_cancellation_slot(caller);
    if (slot.is_connected()) {
      auto cancel = [state](asio::cancellation_type type) {
        const auto kept = state;  // the end of what is cancelled takes this function away
        if (kept->runs) kept->signal.emit(type);
      };
      asio::cancellation_slot(slot).assign(std::move(cancel));
    }
    auto ended = [state, slot, caller = std::move(caller)](std::exception_ptr failure) mutable {
      state->runs = false;
      if (slot.is_connected()) asio::cancellation_slot(slot).clear();
      std::move(caller)(failure);
    };
    asio::co_spawn(executor, std::move(body),
                   asio::bind_cancellation_slot(state->signal.slot(), std::move(ended)));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      start, asio::use_awaitable);
}

}  // namespace cay
