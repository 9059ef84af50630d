// Scope: one cancellation signal per child, an Event for "none runs".
#include "async/scope.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <list>
#include <vector>

#include "async/event.h"

namespace cay {

struct Scope::State {
  explicit State(asio::any_io_executor ex) : executor(std::move(ex)), idle(executor) { idle.set(); }
  asio::any_io_executor executor;
  Event idle;
  std::list<asio::cancellation_signal> signals;  // stable addresses: children hold slots
  std::exception_ptr failure;
};

Scope::Scope(asio::any_io_executor executor)
    : state_(std::make_shared<State>(std::move(executor))) {}
Scope::~Scope() { cancel(); }

void Scope::spawn(asio::awaitable<void> child) {
  auto state = state_;
  state->idle.reset();
  auto signal = state->signals.emplace(state->signals.end());
  auto ended = [state, signal](std::exception_ptr error) {
    if (error && !state->failure && !is_cancellation(error)) state->failure = error;
    state->signals.erase(signal);
    if (state->signals.empty()) state->idle.set();
  };
  asio::co_spawn(state->executor, std::move(child),
                 asio::bind_cancellation_slot(signal->slot(), std::move(ended)));
}

void Scope::cancel() {
  auto state = state_;
  // A child may end while its signal is emitted, which takes that signal from the list.
  std::vector<asio::cancellation_signal*> all;
  all.reserve(state->signals.size());
  for (auto& signal : state->signals) all.push_back(&signal);
  for (auto* signal : all) {
    for (auto& alive : state->signals) {
      if (&alive != signal) continue;
      signal->emit(asio::cancellation_type::terminal);
      break;
    }
  }
}

std::size_t Scope::running() const { return state_->signals.size(); }

asio::awaitable<void> Scope::join() {
  auto state = state_;
  auto throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!state->idle.is_set()) {
    co_await state->idle.wait_through_cancel();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (state->failure) std::rethrow_exception(std::exchange(state->failure, nullptr));
}

}  // namespace cay
