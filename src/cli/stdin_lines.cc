#include "cli/stdin_lines.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <string_view>
#include <thread>
#include <utility>

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
    std::string line;
    std::array<char, 64 * 1024> buffer{};
    for (;;) {
      const ssize_t got = ::read(fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      std::string_view rest(buffer.data(), static_cast<std::size_t>(got));
      const auto room = [&] { return longest - std::min(longest, line.size()); };
      for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        line.append(rest.substr(0, std::min(end, room())));
        rest.remove_prefix(end + 1);
        push(std::exchange(line, {}));
      }
      line.append(rest.substr(0, room()));
    }
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
