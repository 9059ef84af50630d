#include "keeper/tunnels.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace cay::keeper {
namespace {

using wire::Type;

constexpr std::uint64_t kGrantStep = Tunnels::kWindow / 4;
constexpr std::uint64_t kMostCredit = std::uint64_t{1} << 40;
constexpr int kReadsInARow = 4;  // then others on the loop have their turn

// The guest sees a reset, never an end that looks like success.
void set_reset_at_close(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace

void Tunnels::open(ReplyTo to, const wire::OpenTunnel& request) {
  auto flow = std::make_shared<Flow>(loop_);
  flow->to = to;
  flow->credit = std::min(request.credit, kMostCredit);
  begin(flow, request);
}

void Tunnels::connect(const wire::OpenTunnel& request, OnSocket ready) {
  auto flow = std::make_shared<Flow>(loop_);
  flow->ready = std::move(ready);
  begin(flow, request);
}

void Tunnels::begin(const FlowPtr& flow, const wire::OpenTunnel& request) {
  if (request.port == 0 || request.port > 65535) {
    return fail(flow, Error{Code::kInvalidArgument, "invalid_port", "a port is 1 to 65535", 0});
  }
  if (crowded()) {
    return fail(flow, Error{Code::kExhausted, "too_many_tunnels",
                            "the sandbox has " + std::to_string(kMost) +
                                " connections through tunnels open already: close some",
                            0});
  }
  flow->port = static_cast<std::uint16_t>(request.port);
  if (flow->ready) {
    connecting_.insert(flow);
  } else {
    flows_.emplace(flow->to.channel, flow);
  }
  const std::int64_t limit = request.timeout_ms > 0 ? request.timeout_ms : kConnectMs;
  flow->deadline = loop_.after(limit, [this, flow] {
    fail(flow, Error{Code::kDeadlineExceeded, "connect_timed_out",
                     "what listens on port " + std::to_string(flow->port) +
                         " in the sandbox accepts no connection: it may be busy or stopped",
                     ETIMEDOUT});
  });
  sockets_.take([this, flow](Result<GuestSockets::Pair> pair) {
    if (flow->over) return;
    if (!pair) return fail(flow, pair.error());
    flow->dial.begin(*std::move(pair), flow->port, [this, flow](int err) {
      if (err == 0) return opened(flow);
      fail(flow, Error{Code::kNotReady, "connect_refused",
                       "nothing listens on port " + std::to_string(flow->port) +
                           " in the sandbox: start the server, or wait until it listens",
                       err});
    });
  });
}

void Tunnels::opened(const FlowPtr& flow) {
  flow->deadline.reset();
  flow->socket = flow->dial.stop();
  if (flow->ready) return hand_over(flow);
  flow->open = true;
  flow->window = kWindow;
  outbox_.send(flow->to, Type::kTunnelOpen, wire::TunnelOpen{kWindow});
  want(flow);
}

void Tunnels::hand_over(const FlowPtr& flow) {
  set_reset_at_close(flow->socket.get());
  UniqueFd socket = std::move(flow->socket);
  end(flow, How::kGracefully);
  std::exchange(flow->ready, {})(std::move(socket));
}

void Tunnels::on_frame(std::uint32_t channel, Type type, std::string_view payload) {
  const FlowPtr flow = flows_.at(channel);
  if (type == Type::kCancel) return end(flow, How::kReset);
  if (type == Type::kCredit) {
    const auto credit = wire::decode<wire::Credit>(payload);
    if (!credit) return;
    flow->credit = std::min(kMostCredit, flow->credit + std::min(kMostCredit, credit->bytes));
    return flow->open ? want(flow) : void();
  }
  const auto data = type == Type::kData ? wire::decode_data(payload) : std::nullopt;
  const bool fine = type == Type::kEof || (data && data->bytes.size() <= flow->window);
  if (!flow->open || flow->daemon_eof || !fine) {
    return fail(flow, Error{Code::kInvalidArgument, "tunnel_overrun",
                            "more data was sent than was requested", 0});
  }
  if (type == Type::kEof) {
    flow->daemon_eof = true;
  } else {
    flow->window -= data->bytes.size();
    if (flow->out_begin > 0) {
      flow->out.erase(0, flow->out_begin);
      flow->out_begin = 0;
    }
    flow->out += data->bytes;
  }
  flush(flow);
}

void Tunnels::on_events(const FlowPtr& flow, std::uint32_t ready) {
  if (flow->out_begin < flow->out.size() && (ready & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
    flush(flow);
  if (flow->over) return;
  if ((ready & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some(flow);
  if (!flow->over) want(flow);
}

void Tunnels::read_some(const FlowPtr& flow) {
  static std::array<char, wire::kDataChunk> buffer;
  for (int i = 0; i < kReadsInARow && !flow->guest_eof && flow->credit > 0; ++i) {
    if (!outbox_.room()) {
      flow->blocked = true;
      return;
    }
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(flow->credit, buffer.size()));
    const ssize_t got = ::recv(flow->socket.get(), buffer.data(), most, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) return broken(flow, errno);
    if (got == 0) {
      flow->guest_eof = true;
      outbox_.send(flow->to, Type::kEof, wire::Eof{});
      if (flow->shut) {
        outbox_.ok(flow->to);
        return end(flow, How::kGracefully);
      }
      return limit_rest(flow);
    }
    pass_on(flow, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    if (static_cast<std::size_t>(got) < most) return;
  }
}

void Tunnels::pass_on(const FlowPtr& flow, std::string_view bytes) {
  wire::Data data;
  data.offset = flow->offset;
  data.bytes = bytes;
  outbox_.send_data(flow->to, data);
  flow->offset += bytes.size();
  flow->credit -= bytes.size();
}

// Bytes from before the guest broke the connection still count: a web server may answer, and close
// with the request unread.
void Tunnels::read_rest(const FlowPtr& flow) {
  std::array<char, 4096> buffer;
  while (!flow->guest_eof && flow->credit > 0 && outbox_.room()) {
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(flow->credit, buffer.size()));
    const ssize_t got = ::recv(flow->socket.get(), buffer.data(), most, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;  // an end after send() got the error is none
    pass_on(flow, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  }
}

void Tunnels::flush(const FlowPtr& flow) {
  while (flow->out_begin < flow->out.size()) {
    const ssize_t done = ::send(flow->socket.get(), flow->out.data() + flow->out_begin,
                                flow->out.size() - flow->out_begin, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) break;
    if (done < 0) {
      const int err = errno;
      read_rest(flow);
      return broken(flow, err);
    }
    flow->out_begin += static_cast<std::size_t>(done);
    flow->to_grant += static_cast<std::uint64_t>(done);
  }
  const bool empty = flow->out_begin == flow->out.size();
  if (empty) {
    flow->out.clear();
    flow->out_begin = 0;
  }
  if (flow->to_grant >= kGrantStep && !flow->daemon_eof) {
    flow->window += flow->to_grant;
    outbox_.send(flow->to, Type::kCredit, wire::Credit{std::exchange(flow->to_grant, 0)});
  }
  if (empty && flow->daemon_eof && !flow->shut) {
    flow->shut = true;
    ::shutdown(flow->socket.get(), SHUT_WR);
    if (flow->guest_eof) {
      outbox_.ok(flow->to);
      return end(flow, How::kGracefully);
    }
  }
  limit_rest(flow);
  want(flow);
}

// The daemon may have turned to other things: what it left here to be delivered has its time.
void Tunnels::limit_rest(const FlowPtr& flow) {
  if (!flow->daemon_eof || !flow->guest_eof) return;
  flow->deadline = loop_.after(kLingerMs, [this, flow] {
    fail(flow, Error{Code::kDeadlineExceeded, "tunnel_lingered",
                     "both sides of the tunnel have ended, and the program inside takes no more of "
                     "what was sent",
                     0});
  });
}

// No watch while there is nothing to do: a hang-up is level-triggered news that cannot be silenced.
void Tunnels::want(const FlowPtr& flow) {
  std::uint32_t events = 0;
  if (!flow->guest_eof && !flow->blocked && flow->credit > 0) events |= EPOLLIN;
  if (flow->out_begin < flow->out.size()) events |= EPOLLOUT;
  if (events == 0) return flow->watch.reset();
  if (flow->watch) return flow->watch.want(events);
  flow->watch = loop_.watch(flow->socket.get(), events,
                            [this, flow](std::uint32_t ready) { on_events(flow, ready); });
}

void Tunnels::pump() {
  std::vector<FlowPtr> blocked;
  for (const auto& [channel, flow] : flows_) {
    if (flow->blocked) blocked.push_back(flow);
  }
  for (const FlowPtr& flow : blocked) {
    if (flow->over) continue;
    flow->blocked = false;
    want(flow);
  }
}

void Tunnels::broken(const FlowPtr& flow, int err) {
  fail(flow, Error{Code::kCancelled, "connection_reset",
                   "the program that listens on port " + std::to_string(flow->port) +
                       " in the sandbox broke the connection",
                   err});
}

void Tunnels::fail(const FlowPtr& flow, const Error& error) {
  if (!flow->ready) outbox_.fail(flow->to, error);
  end(flow, How::kReset);
  if (auto ready = std::exchange(flow->ready, {})) ready(error);
}

void Tunnels::end(const FlowPtr& flow, How how) {
  if (flow->over) return;
  flow->over = true;
  connecting_.erase(flow);
  if (const auto found = flows_.find(flow->to.channel);
      found != flows_.end() && found->second == flow)
    flows_.erase(found);
  flow->watch.reset();
  flow->deadline.reset();
  if (!flow->socket) flow->socket = flow->dial.stop();
  if (flow->socket && how == How::kReset) set_reset_at_close(flow->socket.get());
  flow->socket.reset();
}

void Tunnels::cancel_all() {
  while (!flows_.empty()) end(FlowPtr(flows_.begin()->second), How::kReset);
}

}  // namespace cay::keeper
