#include "runtime/keeper/link.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstddef>
#include <iterator>

#include <sys/socket.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/hang_up.h"
#include "os/random.h"
#include "os/unix_socket.h"
#include "runtime/keeper/channel.h"
#include "wire/hello_proof.h"

namespace cay::runtime {
namespace {

constexpr std::size_t kReadSize = 64 * 1024;
constexpr int kReadsInARow = 8;         // then others on the loop have their turn
constexpr std::size_t kMaxGather = 64;  // buffers in one write
constexpr std::size_t kMostPassed = 8;  // descriptors whose frame has not come whole

std::size_t bytes_of(const std::vector<std::string>& frames) {
  std::size_t bytes = 0;
  for (const std::string& frame : frames) bytes += frame.size();
  return bytes;
}

// Returns how many bytes of the frames, at most kMaxGather, the socket takes at once. None also if
// it is broken: the write that waits reports that.
std::size_t send_now(int socket, std::vector<std::string>& frames) {
  std::array<iovec, kMaxGather> pieces{};
  msghdr message{};
  message.msg_iov = pieces.data();
  for (std::string& frame : frames)
    pieces[message.msg_iovlen++] = {.iov_base = frame.data(), .iov_len = frame.size()};
  const ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

}  // namespace

std::shared_ptr<Link> Link::start(StreamSocket socket, std::string peer) {
  std::shared_ptr<Link> link(new Link(std::move(socket), std::move(peer)));
  link->read_more();
  return link;
}

Link::Link(StreamSocket socket, std::string peer)
    : socket_(std::move(socket)), peer_(std::move(peer)), changed_(socket_.get_executor()) {
  boost::system::error_code
      ignored;  // a socket that cannot be non-blocking fails at its first read
  socket_.non_blocking(true, ignored);
}

Link::~Link() = default;

Task<wire::Hello> Link::greet(wire::Hello ours, Millis limit, std::string key) {
  auto self = shared_from_this();
  const Deadline deadline = after(limit);
  if (!key.empty()) {
    CAY_CO_TRY(ours.nonce, os::random_bytes(wire::kHelloNonce));
    awaits_proof_ = true;
  }
  const std::string our_hello = wire::encode(ours);
  send(wire::Type::kHello, 0, our_hello);
  while (self->alive_ && !self->theirs_ && !passed(deadline)) {
    co_await wait_until(self->changed_, deadline);
  }
  if (!self->alive_) co_return self->why_;
  if (!self->theirs_) {
    co_return Error{Code::kUnavailable, "no_hello",
                    self->peer_ + " did not greet in " + std::to_string(limit.count()) + " ms", 0};
  }
  const wire::Hello& theirs = *self->theirs_;
  if (std::max(ours.min_version, theirs.min_version) >
      std::min(ours.max_version, theirs.max_version)) {
    co_return Error{Code::kUnsupported, "protocol_version",
                    self->peer_ + " (build " + theirs.build + ") speaks protocol " +
                        std::to_string(theirs.min_version) + " to " +
                        std::to_string(theirs.max_version) + ", this program " +
                        std::to_string(ours.min_version) + " to " +
                        std::to_string(ours.max_version) +
                        ": install matching versions of cay, then restart the older part",
                    0};
  }
  if (!key.empty()) {
    CAY_CO_CHECK(co_await self->prove(std::move(key), our_hello, deadline));
  }
  co_return theirs;
}

// No request is sent before this has ended well: the peer may be anybody.
Task<void> Link::prove(std::string key, std::string our_hello, Deadline deadline) {
  auto self = shared_from_this();
  const wire::Hellos both{self->their_hello_, our_hello};
  const wire::Proof ours{wire::prove_hello(key, wire::Prover::kDaemon, both)};
  send(wire::Type::kProof, 0, wire::encode(ours));
  while (self->alive_ && !self->their_proof_ && !passed(deadline)) {
    co_await wait_until(self->changed_, deadline);
  }
  if (!self->alive_) co_return self->why_;
  if (!self->their_proof_)
    co_return Error{Code::kUnavailable, "no_hello", self->peer_ + " did not prove itself", 0};
  if (!wire::is_proved(key, wire::Prover::kKeeper, both, self->their_proof_->mac)) {
    co_return Error{Code::kConflict, "peer_not_proved",
                    self->peer_ + " does not hold the key of this sandbox", 0};
  }
  co_return Result<void>{};
}

std::unique_ptr<Channel> Link::open() {
  auto state = std::make_shared<ChannelState>(changed_.executor());
  if (next_channel_ == UINT32_MAX)
    close(Error{Code::kUnavailable, "link_lost", "channel numbers are used up", 0});
  if (alive_) {
    state->number = next_channel_++;
    channels_.emplace(state->number, state);
  }
  return std::unique_ptr<Channel>(new Channel(shared_from_this(), std::move(state)));
}

bool Link::hung_up() { return !alive_ || has_hung_up(socket_.native_handle()); }

void Link::part() {
  if (parting_) return;
  send(wire::Type::kCancel, 0, {});
  parting_ = true;
}

void Link::send(wire::Type type, std::uint32_t channel, std::string payload) {
  if (!alive_) return;
  queue(type, channel, std::move(payload));
  if (!writing_) write_more();
}

void Link::queue(wire::Type type, std::uint32_t channel, std::string payload) {
  if (!alive_) return;
  CAY_ASSERT(payload.size() <=
             (type == wire::Type::kStart ? wire::kMaxStartPayload : wire::kMaxPayload));
  wire::Frame frame{.type = static_cast<std::uint16_t>(type),
                    .flags = 0,
                    .channel = channel,
                    .payload = std::move(payload)};
  queue_.push_back(wire::encode_frame(frame));
  queued_ += queue_.back().size();
}

void Link::write_more() {
  const bool had_room = has_room();
  std::size_t already = 0;  // written of what flies
  while (flying_.empty() && !queue_.empty()) {
    const auto cut =
        queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kMaxGather));
    flying_.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(cut));
    queue_.erase(queue_.begin(), cut);
    already = send_now(socket_.native_handle(), flying_);
    queued_ -= already;
    if (already == bytes_of(flying_)) flying_.clear();
  }
  if (!had_room && has_room()) changed_.notify();
  if (flying_.empty()) return;
  writing_ = true;
  std::vector<asio::const_buffer> buffers;
  buffers.reserve(flying_.size());
  for (const std::string& frame : flying_) {
    const std::size_t skipped = std::min(already, frame.size());
    already -= skipped;
    buffers.push_back(asio::buffer(frame) + skipped);
  }
  asio::async_write(
      socket_, buffers,
      [self = shared_from_this()](boost::system::error_code failed, std::size_t written) {
        self->writing_ = false;
        self->flying_.clear();
        if (failed) {
          self->close(Error{Code::kUnavailable, "link_lost",
                            "write to " + self->peer_ + ": " + failed.message(), failed.value()});
          return;
        }
        self->queued_ -= written;
        if (self->has_room()) self->changed_.notify();
        if (self->alive_ && !self->queue_.empty()) self->write_more();
      });
}

void Link::read_more() {
  socket_.async_wait(
      StreamSocket::wait_read, [self = shared_from_this()](boost::system::error_code failed) {
        if (!self->alive_) return;
        // One buffer for all links of a loop: nothing is kept for an idle one.
        thread_local std::array<char, kReadSize> scratch;
        for (int i = 0; i < kReadsInARow && !failed; ++i) {
          const ssize_t read =
              os::receive_with(self->socket_.native_handle(), scratch, self->passed_);
          if (read < 0) failed.assign(errno, boost::system::system_category());
          if (read == 0) failed = asio::error::eof;
          if (failed) break;
          const auto got = static_cast<std::size_t>(read);
          self->reader_.feed(std::string_view(scratch.data(), got));
          while (self->alive_) {
            auto frame = self->reader_.next();
            if (!frame) break;
            self->take(std::move(*frame));
          }
          if (self->reader_.bad()) self->breach("a frame of an impossible length");
          if (self->passed_.size() > kMostPassed) self->breach("descriptors without a frame");
          if (!self->alive_) return;
          if (got < scratch.size()) break;
        }
        if (failed && failed != asio::error::would_block && failed != asio::error::try_again) {
          self->close(Error{Code::kUnavailable, "link_lost",
                            self->peer_ + " closed the connection (" + failed.message() + ")",
                            failed == asio::error::eof ? 0 : failed.value()});
          return;
        }
        self->read_more();
      });
}

void Link::take(wire::Frame frame) {
  if (!theirs_) {
    take_hello(frame);
    return;
  }
  UniqueFd passed;
  const bool bulk = frame.type == static_cast<std::uint16_t>(wire::Type::kBulk);
  if (bulk) {
    if (passed_.empty()) return breach("a frame without its descriptor");
    passed = std::move(passed_.front());
    passed_.erase(passed_.begin());
  }
  if (frame.channel == 0) {
    if (awaits_proof_) {
      auto proof =
          is(frame, wire::Type::kProof) ? wire::decode<wire::Proof>(frame.payload) : std::nullopt;
      if (!proof) return breach("something else before its proof");
      their_proof_ = *std::move(proof);
      awaits_proof_ = false;
      changed_.notify();
      return;
    }
    if (on_event_) on_event_(frame);
    return;
  }
  const auto found = channels_.find(frame.channel);
  if (found == channels_.end()) return;  // late words to a channel that we gave up
  const auto state = found->second;
  if (frame.type == static_cast<std::uint16_t>(wire::Type::kData)) {
    const auto data = wire::decode_data(frame.payload);
    if (!data) {
      breach("a malformed DATA frame");
      return;
    }
    if (data->bytes.size() > state->credit) {
      breach("more data than it was allowed to send");
      return;
    }
    state->credit -= data->bytes.size();
  } else {
    state->uncredited += frame.payload.size() + sizeof(wire::Frame);
    if (state->uncredited > kMaxInbox) {
      state->overflow = true;
      state->inbox.clear();
      channels_.erase(found);
      send(wire::Type::kCancel, state->number, {});
      state->changed.notify();
      return;
    }
  }
  if (bulk) state->passed = std::move(passed);
  state->inbox.push_back(std::move(frame));
  state->changed.notify();
}

void Link::take_hello(const wire::Frame& frame) {
  if (frame.type != static_cast<std::uint16_t>(wire::Type::kHello) || frame.channel != 0) {
    breach("something else before its HELLO");
    return;
  }
  auto hello = wire::decode<wire::Hello>(frame.payload);
  if (!hello) {
    breach("a malformed HELLO");
    return;
  }
  theirs_ = std::move(*hello);
  their_hello_ = frame.payload;
  changed_.notify();
}

void Link::breach(std::string what) {
  if (!alive_) return;
  broke_protocol_ = true;
  close(Error{Code::kInternal, "protocol_error", peer_ + " sent " + what, 0});
}

void Link::close(Error why) {
  if (!alive_) return;
  alive_ = false;
  why_ = std::move(why);
  boost::system::error_code ignored;  // closing what may be broken already
  socket_.close(ignored);
  queue_.clear();
  auto channels = std::move(channels_);
  channels_.clear();
  for (auto& [number, state] : channels) state->changed.notify();
  changed_.notify();
}

asio::awaitable<void> Link::closed() {
  auto self = shared_from_this();
  while (self->alive_) {
    auto woken = co_await wait_until(self->changed_, Deadline::max());
    static_cast<void>(woken);
  }
}

}  // namespace cay::runtime
