#include "gate/door.h"

#include <sys/socket.h>

#include <cerrno>

#include "async/deadline.h"

namespace cay::gate {
namespace {

constexpr Millis kWriteEvery{20};  // many changes become one file
constexpr Millis kOutOfDescriptors{100};
constexpr std::size_t kPerFamily = 2;  // TCP, then UDP

}  // namespace

Door::Door(House& house, const std::string& sandbox_id, const std::string& policy, std::vector<UniqueFd> sockets)
    : house_(house),
      policy_(policy, house.packages),
      policy_name_(policy),
      decisions_(house.directory, sandbox_id, policy),
      written_(house.loop),
      children_(house.loop) {
  for (UniqueFd& fd : sockets) sockets_.emplace_back(house.loop, fd.release());
}

asio::awaitable<void> Door::run() {
  for (std::size_t i = 0; i + 1 < sockets_.size(); i += kPerFamily) {
    children_.spawn(accept_all(i));
    children_.spawn(answer_datagrams(i + 1));
  }
  co_await children_.until(keep_written());
}

asio::awaitable<void> Door::keep_written() {
  for (;;) {
    if (!decisions_.dirty()) {
      co_await written_.wait();
    }
    written_.reset();
    static_cast<void>(decisions_.write());  // a full disk: what was decided stays in memory, and is written with the next
    co_await sleep_for(kWriteEvery);
  }
}

void Door::note(const Decisions::What& what, Decisions::Line* line) {
  auto made = decisions_.note(what, system_clock().wall());
  if (line != nullptr) *line = std::move(made);
  written_.set();
}

asio::awaitable<void> Door::accept_all(std::size_t which) {
  Descriptor& at = sockets_[which];
  for (;;) {
    UniqueFd fd(::accept4(at.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && errno == EAGAIN) {
      co_await readable(at);
      continue;
    }
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
      co_await sleep_for(kOutOfDescriptors);
      continue;
    }
    if (!fd && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!fd) co_return;
    on_close(fd.get(), OnClose::kReset);
    if (connections_ >= kMostConnections) {
      note({.host = "*", .address = {}, .port = 0, .allowed = false, .reason = "too_many_connections"});
      continue;
    }
    children_.spawn(serve(std::move(fd)));
  }
}

}  // namespace cay::gate
