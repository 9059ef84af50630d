#include "cli/stdin_lines.h"

#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

#include "cli/read_lines.h"

namespace cay::cli {
namespace {
constexpr std::size_t kMostLines = 4096;
}  // namespace

struct StdinLines::State : std::enable_shared_from_this<State> {
  explicit State(const asio::any_io_executor& executor)
      : loop(executor), lines(executor, kMostLines) {}

  void push(std::string line) {
    asio::post(loop, [self = shared_from_this(), line = std::move(line)]() mutable {
      self->lines.try_push(std::move(line));
    });
  }

  void read(int fd, std::size_t longest) {
    read_lines(fd, longest, [this](std::string line) { push(std::move(line)); });
    asio::post(loop, [self = shared_from_this()] { self->lines.close(); });
  }

  asio::any_io_executor loop;
  Channel<std::string> lines;
};

StdinLines::StdinLines(const asio::any_io_executor& loop, int fd, std::size_t longest)
    : state_(std::make_shared<State>(loop)) {
  std::thread([state = state_, fd, longest] { state->read(fd, longest); }).detach();
}

Channel<std::string>& StdinLines::lines() { return state_->lines; }

}  // namespace cay::cli
