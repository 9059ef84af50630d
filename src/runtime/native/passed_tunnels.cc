#include "runtime/native/passed_tunnels.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "async/deadline.h"
#include "async/direct_write.h"
#include "async/piped.h"
#include "base/bounded_call.h"
#include "base/hang_up.h"
#include "os/unix_socket.h"
#include "runtime/keeper/channel.h"
#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {
namespace {

using ErrorCode = boost::system::error_code;

constexpr std::size_t kPiece = 256 * 1024;
constexpr std::size_t kIdle = 4;
constexpr Millis kConnectLimit{8'000};

auto to(ErrorCode& error) { return asio::redirect_error(asio::use_awaitable, error); }

// If a stop or a deletion ended the keeper, that is the reason.
Error lost(const PersistentLink& line) {
  if (line.ended()) return line.why();
  return {Code::kUnavailable, "link_lost", "the sandbox's keeper closed the connection", 0};
}

Error breach(const char* what) {
  return {Code::kInternal, "protocol_error", std::string("the sandbox's keeper sent ") + what, 0};
}

Error broke_off(int err) {
  return {Code::kCancelled, "connection_reset", "the program inside broke the connection", err};
}

Result<StreamSocket> tcp_socket(const asio::any_io_executor& executor, UniqueFd descriptor) {
  const auto option = [&](int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(descriptor.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  const int family = option(SO_DOMAIN);
  if ((family != AF_INET && family != AF_INET6) || option(SO_PROTOCOL) != IPPROTO_TCP)
    return breach("something that is no TCP socket");
  StreamSocket socket(executor);
  ErrorCode failed;
  socket.assign(asio::generic::stream_protocol(family, IPPROTO_TCP), descriptor.get(), failed);
  if (failed) return breach("a socket that is of no use");
  static_cast<void>(descriptor.release());
  socket.non_blocking(true, failed);
  return socket;
}

}  // namespace

struct PassedTunnels::Desk {
  explicit Desk(StreamSocket connected) : socket(std::move(connected)) {}
  StreamSocket socket;
  wire::FrameReader reader;
  bool greeted = false;
  std::uint32_t channel = 0;
  bool answered = true;  // the last request was: another one can be sent
};

class PassedTunnels::Tunnel final : public core::Tunnel, public PipedStream, public DirectWrite {
 public:
  Tunnel(std::shared_ptr<PassedTunnels> group, StreamSocket socket)
      : group_(std::move(group)),
        socket_(std::move(socket)),
        buffers_(group_->wide_, socket_.native_handle()) {
    group_->open_.insert(this);
  }
  // Reset by the kernel, as it was made, unless both sides have ended: then the kernel delivers
  // what is left.
  ~Tunnel() override {
    group_->open_.erase(this);
    leave();
  }

  Task<Bytes> read() override {
    if (broken_) co_return *broken_;
    if (ended_) co_return Bytes();
    // One buffer for all tunnels of a loop: nothing is kept for an idle one, and nothing cleared
    // for a few bytes.
    thread_local std::array<char, kPiece> scratch;
    ErrorCode failed;
    ssize_t got = receive(scratch);
    while (got < 0 && would_wait(errno)) {
      co_await socket_.async_wait(StreamSocket::wait_read, to(failed));
      if (broken_) co_return *broken_;
      co_await throw_if_cancelled();
      if (failed) co_return fail(broke_off(failed.value()));
      got = receive(scratch);
    }
    if (got < 0) co_return fail(broke_off(errno));
    if (got > 0) {
      buffers_.moved(static_cast<std::size_t>(got));
      co_return Bytes(scratch.data(), static_cast<std::size_t>(got));
    }
    CAY_CO_CHECK(end());
    co_return Bytes();
  }

  Task<void> write(Bytes bytes) override {
    if (broken_) co_return *broken_;
    if (shut_)
      co_return Error{Code::kInvalidArgument, "tunnel_shut",
                      "this side of the tunnel was ended already", 0};
    ErrorCode failed;
    for (std::string_view left = bytes; !failed && !left.empty();) {
      const ssize_t sent =
          ::send(socket_.native_handle(), left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) {
        left.remove_prefix(static_cast<std::size_t>(sent));
      } else if (would_wait(errno)) {
        co_await socket_.async_wait(StreamSocket::wait_write, to(failed));
        if (broken_) co_return *broken_;
        co_await throw_if_cancelled();
      } else if (errno != EINTR) {
        failed = ErrorCode(errno, boost::system::system_category());
      }
    }
    if (!failed) {
      buffers_.moved(bytes.size());
      co_return Result<void>();
    }
    write_failed_ = failed;
    co_return broke_off(failed.value());
  }

  bool can_splice() const override { return !broken_ && !ended_; }
  Task<KernelPipe> read_piped(std::size_t most) override {
    if (broken_) co_return *broken_;
    if (ended_) co_return KernelPipe();
    ErrorCode failed;
    CAY_CO_TRY(KernelPipe pipe, co_await take_from(socket_, most, failed));
    if (broken_) co_return *broken_;
    if (failed) co_return fail(broke_off(failed.value()));
    buffers_.moved(pipe.size());
    if (pipe.empty()) {
      CAY_CO_CHECK(end());
    }
    co_return pipe;
  }
  Task<void> write_piped(KernelPipe pipe) override {
    if (broken_) co_return *broken_;
    if (shut_)
      co_return Error{Code::kInvalidArgument, "tunnel_shut",
                      "this side of the tunnel was ended already", 0};
    const std::size_t size = pipe.size();
    ErrorCode failed;
    co_await give_to(socket_, pipe, failed);
    if (broken_) co_return *broken_;
    if (!failed) {
      buffers_.moved(size);
      co_return Result<void>();
    }
    write_failed_ = failed;
    co_return broke_off(failed.value());
  }
  std::size_t write_now(std::string_view bytes) override {
    if (broken_ || shut_) return 0;
    const ssize_t sent =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return 0;
    buffers_.moved(static_cast<std::size_t>(sent));
    return static_cast<std::size_t>(sent);
  }
  bool is_quiet() override {
    if (broken_ || ended_ || shut_ || write_failed_) return false;
    char byte = 0;
    return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
  }
  bool has_gone() override { return broken_ || is_broken(socket_.native_handle()); }

  Task<void> shut_write() override {
    if (broken_) co_return *broken_;
    ErrorCode ignored;  // read() reports that it is broken
    if (!std::exchange(shut_, true)) socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    co_return Result<void>();
  }

  void break_off(Error why) override {
    broken_ = std::move(why);
    buffers_.leave();
    leave();
  }

 private:
  // Its keeper has the socket too, and can make a call wait without MSG_DONTWAIT
  // (base/bounded_call.h).
  ssize_t receive(std::span<char> into) {
    ssize_t got = 0;
    do {
      got = ::recv(socket_.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    return got;
  }
  static bool would_wait(int err) { return err == EAGAIN || err == EWOULDBLOCK; }
  // Resets the connection, unless both sides have ended: then the kernel delivers what is left. The
  // linger time is set here, whatever the keeper had chosen, for a lingering close would wait.
  void leave() {
    if (!socket_.is_open()) return;
    ErrorCode ignored;
    const bool whole = ended_ && shut_;
    socket_.set_option(asio::socket_base::linger(!whole, 0), ignored);
    const CallLimit limit;
    socket_.close(ignored);
  }
  // Returns the error of a read that looks like the end. If the program was killed with its keeper,
  // or write() has seen the break, the stream did not end.
  Result<void> end() {
    if (write_failed_) return fail(broke_off(write_failed_.value()));
    if (group_->line_->hung_up()) return fail(lost(*group_->line_));
    ended_ = true;
    return {};
  }
  Error fail(Error error) {
    broken_ = std::move(error);
    return *broken_;
  }

  std::shared_ptr<PassedTunnels> group_;
  StreamSocket socket_;
  WideBuffers::Place buffers_;
  bool ended_ = false, shut_ = false;
  ErrorCode write_failed_;
  std::optional<Error> broken_;
};

PassedTunnels::PassedTunnels(std::shared_ptr<PersistentLink> line) : line_(std::move(line)) {}
PassedTunnels::~PassedTunnels() = default;

void PassedTunnels::close(const Error& why) {
  closed_ = why;
  idle_.clear();
  for (Tunnel* one : std::exchange(open_, {})) one->break_off(why);
}

Task<std::unique_ptr<PassedTunnels::Desk>> PassedTunnels::free_desk() {
  if (!idle_.empty()) {
    auto desk = std::move(idle_.back());
    idle_.pop_back();
    co_return desk;
  }
  auto dialled = line_->dial();
  CAY_CO_TRY(auto socket, co_await std::move(dialled));
  co_return std::make_unique<Desk>(std::move(socket));
}

Task<UniqueFd> PassedTunnels::ask(Desk& desk, std::uint16_t port) {
  const wire::OpenTunnel request{.port = port, .credit = 0, .timeout_ms = kConnectLimit.count()};
  std::string question;
  if (desk.channel == 0) {
    wire::Hello hello = line_->ours();
    hello.role = "tunnel";
    question = wire::encode_frame({.type = static_cast<std::uint16_t>(wire::Type::kHello),
                                   .flags = 0,
                                   .channel = 0,
                                   .payload = wire::encode(hello)});
  }
  question += wire::encode_frame({.type = static_cast<std::uint16_t>(wire::Type::kOpenTunnel),
                                  .flags = 0,
                                  .channel = ++desk.channel,
                                  .payload = wire::encode(request)});
  desk.answered = false;
  ErrorCode failed;
  co_await asio::async_write(desk.socket, asio::buffer(question), to(failed));
  if (failed) co_return lost(*line_);
  UniqueFd socket;
  while (true) {
    co_await desk.socket.async_wait(StreamSocket::wait_read, to(failed));
    if (failed) co_return lost(*line_);
    auto received = os::receive_message(desk.socket.native_handle());
    if (!received && received.error().code == Code::kNotReady) continue;
    if (!received || received->bytes.empty()) co_return lost(*line_);
    if (received->fds_lost) co_return no_descriptors(EMFILE);
    if (!received->fds.empty()) socket = std::move(received->fds.front());
    desk.reader.feed(received->bytes);
    while (auto frame = desk.reader.next()) {
      if (!desk.greeted) {
        const auto hello = is(*frame, wire::Type::kHello)
                               ? wire::decode<wire::Hello>(frame->payload)
                               : std::nullopt;
        const wire::Hello& theirs = line_->theirs();
        desk.greeted =
            hello && hello->instance == theirs.instance && hello->sandbox_id == theirs.sandbox_id;
        if (!desk.greeted) co_return breach("another one's greeting");
        continue;
      }
      if (is(*frame, wire::Type::kError)) {
        auto error = wire::decode<wire::ErrorMsg>(frame->payload);
        if (!error) co_return breach("an error that cannot be decoded");
        desk.answered = true;
        co_return to_error(*std::move(error));
      }
      if (!is(*frame, wire::Type::kTunnelOpen) || frame->channel != desk.channel || !socket)
        co_return breach("no socket");
      desk.answered = true;
      co_return socket;
    }
    if (desk.reader.bad()) co_return breach("a frame of an impossible length");
  }
}

Task<std::unique_ptr<core::Tunnel>> PassedTunnels::open(std::uint16_t port) {
  auto self = shared_from_this();
  if (open_.size() + opening_ >= kMost) {
    co_return Error{Code::kExhausted, "too_many_tunnels",
                    "the sandbox has " + std::to_string(kMost) +
                        " connections through tunnels open already: close some",
                    0};
  }
  struct Opening {
    std::size_t& count;
    explicit Opening(std::size_t& counted) : count(counted) { ++count; }
    ~Opening() { --count; }
  } opening(self->opening_);
  CAY_CO_TRY(auto desk, co_await self->free_desk());
  auto asking = self->ask(*desk, port);
  auto answer = co_await with_deadline<UniqueFd>(std::move(asking), kAnswerLimit,
                                                 "asking the sandbox's keeper for a connection");
  if (self->closed_) co_return *self->closed_;
  if (desk->answered && self->idle_.size() < kIdle) self->idle_.push_back(std::move(desk));
  CAY_CO_TRY(auto descriptor, std::move(answer));
  const auto executor = co_await asio::this_coro::executor;
  CAY_CO_TRY(auto socket, tcp_socket(executor, std::move(descriptor)));
  co_return std::unique_ptr<core::Tunnel>(new Tunnel(self, std::move(socket)));
}

}  // namespace cay::runtime
