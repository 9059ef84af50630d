#include "launcher/worker.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "launcher/child_job.h"
#include "launcher/layer_store.h"
#include "launcher/probe.h"
#include "launcher/pulse.h"
#include "launcher/sandboxes.h"
#include "launcher/store_verbs.h"
#include "launcher/validate.h"
#include "os/unix_socket.h"
#include "wire/launcher_features.h"

namespace cay::launcher {
namespace {

constexpr std::size_t kMaxConnections = 64;
constexpr std::size_t kMaxUnsent = 4 << 20;  // a peer that does not read is cut off

class Worker final : public Outbox {
 public:
  Worker(Host& host, int listen_fd, int guardian_fd)
      : host_(host),
        listen_fd_(listen_fd),
        guardian_fd_(guardian_fd),
        sandboxes_(host, poller_, *this),
        store_(host, sandboxes_, *this,
               [this](const ReplyTo& to, const ChildJob::Work& work, std::function<void()> then) {
                 if (start_job(to, work, then) == 0) then();
               }) {}

  Error run() {
    remove_leftovers(host_);
    auto adopted = sandboxes_.adopt();
    if (!adopted) return std::move(adopted).error();
    poller_.watch(listen_fd_, EPOLLIN, [this](std::uint32_t) { accept_all(); });
    // The kernel's own signal for this (PR_SET_PDEATHSIG) goes with every change of the effective
    // uid.
    poller_.watch(guardian_fd_, EPOLLIN, [this](std::uint32_t) {
      if (!answer_pulse(guardian_fd_)) ::_exit(1);
    });
    (void)::send(guardian_fd_, "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);  // up
    for (;;) {
      poller_.run_once(sandboxes_.tick());
      dying_.clear();
      ended_jobs_.clear();
    }
  }

  void send(std::uint64_t connection, const wire::Frame& frame) override {
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    Connection& peer = *found->second;
    peer.unsent += wire::encode_frame(frame);
    flush(connection, peer);
  }

  void broadcast(const wire::Frame& frame) override {
    std::vector<std::uint64_t> greeted;
    for (const auto& [number, peer] : connections_) {
      if (peer->greeted) greeted.push_back(number);
    }
    for (const std::uint64_t number : greeted) send(number, frame);
  }

 private:
  struct Connection {
    UniqueFd fd;
    wire::FrameReader reader;
    std::string unsent;
    bool greeted = false;
    bool wants_out = false;
  };

  void accept_all() {
    for (;;) {
      UniqueFd fd(::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) return;
      if (!os::peer_is(fd.get(), host_.config.daemon_uid) || connections_.size() >= kMaxConnections)
        continue;
      const std::uint64_t number = ++last_connection_;
      auto peer = std::make_unique<Connection>();
      const int raw = fd.get();
      peer->fd = std::move(fd);
      connections_[number] = std::move(peer);
      poller_.watch(raw, EPOLLIN,
                    [this, number](std::uint32_t events) { on_events(number, events); });
      wire::Hello hello;
      hello.role = "launcher";
      hello.boot_id = host_.boot_id;
      hello.instance = host_.config.instance;
      hello.build = host_.config.build;
      hello.features.assign(wire::launcher_feature::kAll.begin(),
                            wire::launcher_feature::kAll.end());
      send(number, frame_of(wire::Type::kHello, 0, hello));
    }
  }

  void drop(std::uint64_t number) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    poller_.forget(found->second->fd.get());
    found->second->fd.reset();
    dying_.push_back(std::move(found->second));  // a caller up the stack may still hold a reference
    connections_.erase(found);
  }

  void flush(std::uint64_t number, Connection& peer) {
    while (!peer.unsent.empty()) {
      const ssize_t n = ::send(peer.fd.get(), peer.unsent.data(), peer.unsent.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (n < 0) return drop(number);
      peer.unsent.erase(0, static_cast<std::size_t>(n));
    }
    if (peer.unsent.size() > kMaxUnsent) return drop(number);
    const bool wants_out = !peer.unsent.empty();
    if (wants_out != peer.wants_out) {
      peer.wants_out = wants_out;
      poller_.change(peer.fd.get(), wants_out ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
  }

  void on_events(std::uint64_t number, std::uint32_t events) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    Connection& peer = *found->second;
    if ((events & EPOLLOUT) != 0) flush(number, peer);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || !connections_.contains(number)) return;
    char buffer[64 * 1024];
    const ssize_t n = ::recv(peer.fd.get(), buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return drop(number);
    peer.reader.feed({buffer, static_cast<std::size_t>(n)});
    while (connections_.contains(number)) {
      const auto frame = peer.reader.next();
      if (!frame) break;
      on_frame(number, peer, *frame);
    }
    if (peer.reader.bad()) drop(number);
  }

  void on_frame(std::uint64_t number, Connection& peer, const wire::Frame& frame) {
    const auto type = static_cast<wire::Type>(frame.type);
    if (!peer.greeted) {
      const auto hello = wire::decode<wire::Hello>(frame.payload);
      if (type != wire::Type::kHello || !hello) return drop(number);
      if (hello->min_version > wire::kProtocolNow || hello->max_version < wire::kProtocolMin) {
        send(number,
             error_frame(
                 0, Error{Code::kUnsupported, "protocol_version",
                          "this launcher is of another version than the daemon: restart it", 0}));
        return drop(number);
      }
      peer.greeted = true;
      return sandboxes_.tell_deaths(number);
    }
    if (frame.channel == 0) return;  // nothing of a daemon's is an event
    const ReplyTo to{number, frame.channel};
    switch (type) {
      case wire::Type::kCreate: return on_create(to, frame.payload);
      case wire::Type::kStop:
      case wire::Type::kDestroy: return on_end_verb(to, type, frame.payload);
      case wire::Type::kListSandboxes: return sandboxes_.list(to);
      case wire::Type::kPrepareDefault: return on_prepare_default(to, frame.payload);
      case wire::Type::kProbe: return on_probe(to);
      case wire::Type::kCancel:
        return;  // what was begun is finished; its answer is then dropped by the daemon
      default:
        if (store_.serve(to, type, frame.payload)) return;
        return reply_error(*this, to,
                           Error{Code::kUnsupported, "unknown_verb",
                                 "the launcher has no verb " + std::to_string(frame.type), 0});
    }
  }

  void on_create(const ReplyTo& to, const std::string& payload) {
    const auto request = wire::decode<wire::CreateSandbox>(payload);
    if (!request) return malformed(to);
    auto checked = check(*request);
    if (!checked) return reply_error(*this, to, checked.error());
    sandboxes_.create(to, *request);
  }

  void on_end_verb(const ReplyTo& to, wire::Type type, const std::string& payload) {
    const auto request = wire::decode<wire::SandboxRef>(payload);
    if (!request || !is_uuid(request->sandbox_id)) return malformed(to);
    if (type == wire::Type::kStop) {
      sandboxes_.stop(to, request->sandbox_id);
    } else {
      sandboxes_.destroy(to, request->sandbox_id);
    }
  }

  // All requests that come while it is being made wait for the same one.
  void on_prepare_default(const ReplyTo& to, const std::string& payload) {
    const auto with = wire::decode<wire::PrepareDefault>(payload);
    if (!with) return malformed(to);
    auto fine = check(*with);
    if (!fine) return reply_error(*this, to, fine.error());
    if (!host_.config.prepare_default) {
      return reply_error(*this, to,
                         Error{Code::kUnsupported, "no_default_snapshot",
                               "this launcher was built without the default snapshot", 0});
    }
    if (prepare_ == 0) {
      prepare_ = start_job(
          to,
          [this, with](const ChildJob::Emit& emit) {
            const std::string layers = "/proc/self/fd/" + std::to_string(host_.layers.get());
            const auto made =
                host_.config.prepare_default(layers, *with, [&emit](const std::string& sentence) {
                  emit(wire::Type::kProgress, wire::encode(wire::ProgressMsg{sentence}));
                });
            if (made) {
              emit(wire::Type::kSnapshot, wire::encode(*made));
            } else {
              emit(wire::Type::kError, error_frame(0, made.error()).payload);
            }
          },
          [this] { prepare_ = 0; });
    } else {
      jobs_.at(prepare_)->add(to);
    }
  }

  void on_probe(const ReplyTo& to) {
    start_job(to, [this](const ChildJob::Emit& emit) {
      for (const wire::FeatureMsg& feature : probe(host_))
        emit(wire::Type::kFeature, wire::encode(feature));
      emit(wire::Type::kEof, wire::encode(wire::Eof{}));
    });
  }

  std::uint64_t start_job(const ReplyTo& to, const ChildJob::Work& work,
                          std::function<void()> then = {}) {
    const std::uint64_t number = ++last_job_;
    auto job = ChildJob::start(poller_, *this, work, [this, number, then] {
      const auto found = jobs_.find(number);
      ended_jobs_.push_back(std::move(found->second));  // it is on the stack now
      jobs_.erase(found);
      if (then) then();
    });
    if (!job) {
      reply_error(*this, to, job.error());
      return 0;
    }
    (*job)->add(to);
    jobs_[number] = std::move(*job);
    return number;
  }

  void malformed(const ReplyTo& to) {
    reply_error(
        *this, to,
        Error{Code::kInvalidArgument, "bad_request", "malformed request to the launcher", 0});
  }

  Host& host_;
  int listen_fd_;
  int guardian_fd_;
  Poller poller_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> dying_;
  std::uint64_t last_connection_ = 0;
  std::map<std::uint64_t, std::unique_ptr<ChildJob>> jobs_;
  std::vector<std::unique_ptr<ChildJob>> ended_jobs_;
  std::uint64_t last_job_ = 0;
  std::uint64_t prepare_ = 0;
  Sandboxes sandboxes_;
  StoreVerbs store_;
};

}  // namespace

Error run_worker(Host& host, int listen_fd, int guardian_fd) {
  return Worker(host, listen_fd, guardian_fd).run();
}

}  // namespace cay::launcher
