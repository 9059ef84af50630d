#include "cli/agent_loop.h"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>
#include <stdexcept>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/signals.h"

namespace cay::cli {

struct AgentLoop::Interrupts::State : std::enable_shared_from_this<State> {
  State(asio::io_context& loop, std::function<void()> then)
      : signals(loop, SIGINT, SIGTERM), interrupt(std::move(then)) {}

  void wait() {
    signals.async_wait([self = shared_from_this()](boost::system::error_code error, int signal) {
      if (error) return;
      if (self->interrupted) end_by_signal(signal);
      self->interrupted = true;
      print_error("stopping: the run ends as soon as it can. Once more ends it at once");
      self->interrupt();
      self->wait();
    });
  }

  asio::signal_set signals;
  std::function<void()> interrupt;
  bool interrupted = false;
};

AgentLoop::Interrupts::Interrupts(asio::io_context& loop, std::function<void()> interrupt)
    : state_(std::make_shared<State>(loop, std::move(interrupt))) {
  state_->wait();
}

// Signals have their usual effect again at once, also before the loop runs on.
AgentLoop::Interrupts::~Interrupts() { state_->signals.clear(); }

void AgentLoop::run() {
  ended_ = false;
  failed_ = nullptr;
  loop_.restart();
  while (!ended_) {
    if (loop_.run_one() == 0) throw std::logic_error("an agent waits for nothing");
  }
  if (failed_) std::rethrow_exception(failed_);
}

}  // namespace cay::cli
