#include "keeper/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "wire/keeper_features.h"

namespace cay::keeper {
namespace {

using wire::Type;

constexpr std::ptrdiff_t kMostUngreeted = 8;
constexpr std::int64_t kGreetingMs = 5000;

// Whether a request of this type opens a channel that stays open.
bool continues_channel(Type type) {
  return type == Type::kData || type == Type::kEof || type == Type::kCredit ||
         type == Type::kCancel || type == Type::kFileInfo || type == Type::kLayerEntry ||
         type == Type::kBulk;
}

}  // namespace

Server::Server(Loop& loop, const Context& context) : loop_(loop), context_(context) {}

void Server::begin(Services services) {
  services_ = std::move(services);
  int family = 0;
  socklen_t size = sizeof family;
  passes_sockets_ = ::getsockopt(context_.listen_fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
                    family == AF_UNIX;
  acceptor_.emplace(loop_, context_.listen_fd, [this](UniqueFd fd) { admit(std::move(fd)); });
}

void Server::admit(UniqueFd fd) {
  if (!PeerProof::admits(context_.daemon, fd.get())) return;
  // A silent one gives way to a new one: peers that never send HELLO keep nobody out.
  const auto silent = [](const Peer& peer) { return !peer.greeted; };
  if (std::count_if(peers_.begin(), peers_.end(), silent) >= kMostUngreeted) {
    on_close(*std::find_if(peers_.begin(), peers_.end(), silent));
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on,
               sizeof on);  // refused by UNIX sockets: fine
  wire::Hello hello;
  hello.role = "keeper";
  hello.boot_id = context_.boot_id;
  hello.instance = context_.instance;
  hello.sandbox_id = context_.sandbox_id;
  hello.witness = context_.witness;
  hello.build = context_.build;
  hello.passes_sockets = passes_sockets_;
  hello.notes = true;
  hello.features.assign(wire::keeper_feature::kAll.begin(), wire::keeper_feature::kAll.end());
  Peer& peer = peers_.emplace_back(PeerProof(context_.daemon, std::move(hello)));
  Peer* self = &peer;
  peer.number = next_number_++;
  Connection::Events events;
  events.on_frame = [this, self](wire::Frame frame) { on_frame(*self, std::move(frame)); };
  events.on_room = [this, self] {
    if (self != daemon_) return;
    services_.notes->pump();  // before a listing: nothing is listed whose note is still to come
    services_.readers->pump();
    services_.files->pump();
    services_.tunnels->pump();
    go_on_listing();
  };
  events.on_close = [this, self] { on_close(*self); };
  peer.connection = std::make_unique<Connection>(loop_, std::move(fd), std::move(events));
  peer.connection->allow(peer.proof.most_payload());
  peer.greeting = loop_.after(kGreetingMs, [this, self] { on_close(*self); });
  peer.connection->send(Type::kHello, 0, peer.proof.hello());
}

void Server::on_frame(Peer& peer, wire::Frame frame) {
  if (!peer.greeted) return greet(peer, frame);
  if (peer.for_sockets) return pass_socket(peer, frame);
  if (&peer != daemon_) return;  // replaced, and on its way out
  dispatch({peer.number, frame.channel}, static_cast<Type>(frame.type), frame.payload);
}

void Server::greet(Peer& peer, const wire::Frame& frame) {
  const PeerProof::Step step = peer.proof.take(frame);
  if (step == PeerProof::Step::kRefused) return on_close(peer);
  if (step == PeerProof::Step::kMore) return;
  if (step == PeerProof::Step::kOtherVersion) {
    peer.connection->send(Type::kError, 0,
                          wire::encode(wire::ErrorMsg{
                              static_cast<std::uint32_t>(Code::kUnsupported), "protocol_version",
                              "this keeper speaks another version of the protocol: "
                              "restart the sandbox",
                              0}));
    peer.connection->close_after_flush();
    return;
  }
  const wire::Hello& hello = peer.proof.theirs();
  const std::string proof = peer.proof.answer();
  if (!proof.empty()) peer.connection->send(Type::kProof, 0, proof);
  peer.connection->allow(wire::kMaxStartPayload);
  peer.greeted = true;
  peer.greeting.reset();
  if (hello.role == "tunnel") {
    peer.for_sockets = true;
    return;
  }
  if (daemon_ != nullptr) {
    Peer& old = *daemon_;
    leave();
    on_close(old);
  }
  daemon_ = &peer;
  services_.notes->daemon_came(hello.notes);
  services_.commands->daemon_returned();
}

// The socket is the daemon's own from here on: bytes do not come this way.
void Server::pass_socket(Peer& peer, const wire::Frame& frame) {
  const bool asks = static_cast<Type>(frame.type) == Type::kOpenTunnel && passes_sockets_;
  const auto request = asks ? wire::decode<wire::OpenTunnel>(frame.payload) : std::nullopt;
  if (!request) return on_close(peer);
  services_.tunnels->connect(
      *request, [this, number = peer.number, channel = frame.channel](Result<UniqueFd> socket) {
        const auto at = std::find_if(peers_.begin(), peers_.end(),
                                     [number](const Peer& one) { return one.number == number; });
        if (at == peers_.end()) return;
        if (!socket) {
          const Error& error = socket.error();
          const wire::ErrorMsg told{static_cast<std::uint32_t>(error.code), error.reason,
                                    error.message, error.os_errno};
          return at->connection->send(Type::kError, channel, wire::encode(told));
        }
        at->connection->send_with(*std::move(socket), Type::kTunnelOpen, channel,
                                  wire::encode(wire::TunnelOpen{}));
      });
}

// The daemon's connection is over: what belonged to it goes, commands do not notice.
void Server::leave() {
  daemon_ = nullptr;
  listings_.clear();
  services_.notes->daemon_left();
  services_.commands->daemon_left();
  services_.readers->orphan_all();
  services_.files->cancel_all();
  services_.tunnels->cancel_all();
}

void Server::on_close(Peer& peer) {
  if (exiting_) services_.exit();
  if (&peer == daemon_) leave();
  for (auto at = peers_.begin(); at != peers_.end(); ++at) {
    if (&*at != &peer) continue;
    // From one of its own callbacks: it is destroyed when that is over.
    auto gone = std::make_shared<std::list<Peer>>();
    gone->splice(gone->begin(), peers_, at);
    gone->front().greeting.reset();
    loop_.defer([gone] {});
    return;
  }
}

void Server::send(ReplyTo to, Type type, std::string payload) {
  if (daemon_ == nullptr || daemon_->number != to.connection) return;
  daemon_->connection->send(type, to.channel, payload);
}

void Server::send_data(ReplyTo to, const wire::Data& data) {
  if (daemon_ == nullptr || daemon_->number != to.connection) return;
  daemon_->connection->send_data(to.channel, data);
}

void Server::send_with(UniqueFd descriptor, ReplyTo to, Type type) {
  if (daemon_ == nullptr || daemon_->number != to.connection) return;
  daemon_->connection->send_with(std::move(descriptor), type, to.channel, {});
}

void Server::event(Type type, const std::string& payload) {
  if (daemon_ != nullptr) daemon_->connection->send(type, 0, payload);
}

void Server::hurry(bool on) {
  if (daemon_ != nullptr) daemon_->connection->hurry(on);
}

bool Server::room() const { return daemon_ != nullptr && daemon_->connection->room(); }

template <class T, class Fn>
void Server::decoded(ReplyTo to, std::string_view payload, Fn&& fn) {
  auto message = wire::decode<T>(payload);
  if (!message) {
    return fail(
        to, Error{Code::kInvalidArgument, "malformed_request", "the request cannot be decoded", 0});
  }
  fn(*std::move(message));
}

void Server::dispatch(ReplyTo to, Type type, std::string_view payload) {
  const std::uint32_t channel = to.channel;
  if (type == Type::kCancel && channel == 0) return services_.commands->daemon_parts();
  const bool known = services_.readers->has(channel) || services_.files->has(channel) ||
                     services_.tunnels->has(channel) || listings_.contains(channel);
  if (continues_channel(type)) {
    if (services_.files->has(channel)) return services_.files->on_frame(channel, type, payload);
    if (services_.tunnels->has(channel)) return services_.tunnels->on_frame(channel, type, payload);
    // A late word about a channel that has just ended is no fault.
    if (type == Type::kCredit) {
      const auto credit = wire::decode<wire::Credit>(payload);
      if (credit) services_.readers->credit(channel, credit->bytes);
    } else if (type == Type::kCancel) {
      services_.readers->cancel(to);
      listings_.erase(channel);
    }
    return;
  }
  if (known || channel == 0) {
    return fail(to, Error{Code::kInvalidArgument, "channel_in_use",
                          "the channel is in use: take a new number", 0});
  }
  CommandRequests& requests = *services_.requests;
  switch (type) {
    case Type::kStart:
      return decoded<wire::StartCommand>(
          to, payload, [&](auto request) { requests.start(to, std::move(request)); });
    case Type::kAttach:
      return decoded<wire::Attach>(to, payload,
                                   [&](auto request) { requests.attach(to, std::move(request)); });
    case Type::kStdin:
      return decoded<wire::Stdin>(
          to, payload, [&](auto request) { requests.write_stdin(to, std::move(request)); });
    case Type::kCloseStdin:
      return decoded<wire::CommandRef>(to, payload,
                                       [&](auto request) { requests.close_stdin(to, request); });
    case Type::kKill:
      return decoded<wire::Kill>(to, payload, [&](auto request) { requests.kill(to, request); });
    case Type::kResize:
      return decoded<wire::Resize>(to, payload,
                                   [&](auto request) { requests.resize(to, request); });
    case Type::kGetCommand:
      return decoded<wire::CommandRef>(to, payload,
                                       [&](auto request) { requests.get(to, request); });
    case Type::kForget:
      return decoded<wire::CommandRef>(to, payload,
                                       [&](auto request) { requests.forget(to, request); });
    case Type::kListCommands: return list(channel);
    case Type::kFileOp:
      return decoded<wire::FileOp>(
          to, payload, [&](auto request) { services_.files->start(to, std::move(request)); });
    case Type::kOpenTunnel:
      return decoded<wire::OpenTunnel>(to, payload,
                                       [&](auto request) { services_.tunnels->open(to, request); });
    case Type::kNoted:
      return decoded<wire::Noted>(to, payload, [&](const auto& request) {
        services_.notes->noted(request);
        ok(to);
      });
    case Type::kStats: return send(to, Type::kStatsReply, services_.stats());
    case Type::kPause: services_.files->dismiss_waiting(); return services_.pauser->pause(to);
    case Type::kResume: return services_.pauser->resume(to);
    case Type::kShutdown:
      services_.files->dismiss_waiting();
      return services_.shut_down([this, to] {
        services_.notes->pump(true);  // the last ends come before the answer
        ok(to);
        if (daemon_ == nullptr) return services_.exit();
        daemon_->connection->close_after_flush();
        exiting_ = true;
        // A peer that does not read must not keep us.
        daemon_->greeting = loop_.after(1000, [this] { services_.exit(); });
      });
    default:
      return fail(to, Error{Code::kUnsupported, "unknown_request",
                            "this keeper does not know that request", 0});
  }
}

void Server::list(std::uint32_t channel) {
  listings_.emplace(channel, std::string());
  go_on_listing();
}

void Server::go_on_listing() {
  while (!listings_.empty() && room()) {
    const auto at = listings_.begin();
    const ReplyTo to{daemon_->number, at->first};
    auto next = services_.requests->next_after(at->second);
    if (!next) {
      send(to, Type::kEof, wire::Eof{});
      listings_.erase(at);
      continue;
    }
    at->second = next->first;
    send(to, Type::kCommand, next->second);
  }
}

}  // namespace cay::keeper
