#include "vault/broker.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "base/entered.h"
#include "gate/broker_frames.h"
#include "gate/counted.h"
#include "gate/sockets.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"
#include "vault/confinement.h"
#include "vault/relay.h"
#include "vault/rules.h"
#include "wire/vault_frame.h"

namespace cay::vault {
namespace {

using gate::Descriptor;

constexpr const char* kConfinement = "landlock";  // its version, or 0: for `cay doctor`
constexpr Millis kLookEvery{250};
constexpr Millis kGrace{1'500};
constexpr Millis kFirstGrace{15'000};
constexpr Millis kHelloLimit{5'000};
constexpr Millis kOutOfDescriptors{20};
constexpr std::size_t kMostAtWork = 256;  // connections of one sandbox
constexpr Millis kGateLimit{
    1'000};  // of our life, for a gate to come back: it looks for us several times a second

struct Openings {
  UniqueFd daemon, gate;
  UniqueFd confinement;  // the broker writes here how it confined itself
};

// For everybody to read, whatever the mask: `cay doctor` does.
Result<UniqueFd> open_for_telling(int directory, const char* name) {
  UniqueFd fd(
      ::openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd || ::fchmod(fd.get(), 0644) != 0)
    return Error::from_errno(errno, "open the broker's identity");
  return fd;
}

// Untold, it is in the log alone.
void tell_refusal(int directory, const std::string& why) {
  const auto telling = open_for_telling(directory, kRefusalFile);
  const std::string line = why + "\n";
  if (telling) (void)!::write(telling->get(), line.data(), line.size());
}

// Earlier releases kept the values that servers were sent. Nothing reads these files any more.
void remove_former_files(int directory) {
  const auto names = os::list_dir(directory);
  if (!names) return;  // Grants::open() reports it
  for (const std::string& name : *names) {
    const bool unfinished = name.ends_with(".sent.new");
    if (unfinished || wire::is_former_vault_file(name)) ::unlinkat(directory, name.c_str(), 0);
  }
}

Result<UniqueFd> listen_for_others(int directory, const char* name) {
  CAY_TRY(UniqueFd fd, os::listen_unix(directory, name, ::geteuid(), ::getegid()));
  // The broker checks the peer's uid (SO_PEERCRED), so the file's mode may be open.
  if (::fchmodat(directory, name, 0666, 0) != 0)
    return Error::from_errno(errno, "open the broker's socket");
  return fd;
}

// A connection of a sandbox, for as long as it is here.
class AtWork {
 public:
  AtWork(std::map<std::string, std::size_t>& all, const std::string& sandbox_id)
      : all_(all), mine_(all.try_emplace(sandbox_id).first) {
    ++mine_->second;
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  ~AtWork() {
    if (--mine_->second == 0) all_.erase(mine_);
  }
  std::size_t count() const { return mine_->second; }  // with this one

 private:
  std::map<std::string, std::size_t>& all_;
  const std::map<std::string, std::size_t>::iterator mine_;
};

// One that is over is reset by its close.
wire::BrokerWord too_many(const wire::BrokerHello& hello) {
  wire::BrokerWord out;
  out.host = hello.host;
  out.port = hello.port;
  out.refused = out.opened = true;
  out.reason = "too_many_connections";
  return out;
}

std::uint8_t number_of(Code code) { return static_cast<std::uint8_t>(code); }

class Broker {
 public:
  Broker(asio::io_context& loop, const BrokerConfig& config, Keyring keys,
         std::vector<Network> networks, std::unique_ptr<http::Tls> tls)
      : loop_(loop),
        config_(config),
        keys_(std::move(keys)),
        grants_(config.directory, keys_),
        reachable_(std::move(networks)),
        proxy_(config.settings.proxy),
        resolver_(loop.get_executor(), proxy_.look_up(gate::look_up)),
        tls_(std::move(tls)),
        house_{loop.get_executor(), keys_,  grants_, reachable_, resolver_, proxy_, *tls_, open_,
               encodings_,          memory_},
        children_(loop.get_executor()) {}

  void begin(Openings openings) {
    grants_.open();
    remove_former_files(config_.directory);
    grants_.on_change = [this](const wire::BrokerRoutes& routes) {
      notify_gates(routes);
      changed_.push_back(routes.sandbox_id);
    };
    children_.spawn(accept(std::move(openings.daemon),
                           static_cast<uid_t>(config_.settings.daemon_uid), &Broker::serve_daemon));
    children_.spawn(accept(std::move(openings.gate), static_cast<uid_t>(config_.settings.gate_uid),
                           &Broker::serve_gate));
    if (config_.life == Life::kWhileNeeded) children_.spawn(end_when_idle());
  }

 private:
  using Serving = asio::awaitable<void> (Broker::*)(UniqueFd fd);

  asio::awaitable<void> accept(UniqueFd fd, uid_t whose, Serving serving) {
    Descriptor at(loop_, fd.release());
    for (;;) {
      UniqueFd one(::accept4(at.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!one) {
        if (errno != EAGAIN && errno != EINTR) {
          co_await sleep_for(kOutOfDescriptors);
        }
        co_await gate::readable(at);
        continue;
      }
      if (!os::peer_is(one.get(), whose)) continue;
      children_.spawn(guarded((this->*serving)(std::move(one))));
    }
  }

  // An error of one connection ends that connection alone.
  static asio::awaitable<void> guarded(asio::awaitable<void> work) {
    try {
      co_await std::move(work);
    } catch (const std::bad_alloc&) {
      std::fprintf(stderr, "cay broker: out of memory: a connection ends\n");
    }
  }

  // --- the daemon ---

  asio::awaitable<void> serve_daemon(UniqueFd fd) {
    Descriptor daemon(loop_, fd.release());
    const gate::Counted counted(connected_);
    gate::FrameReader reader;
    for (;;) {
      auto bytes = co_await reader.next(daemon);
      if (!bytes) co_return;
      auto ask = wire::decode<wire::VaultAsk>(*bytes);
      wipe(*bytes);
      if (!ask) co_return;
      grants_.received(ask->turn);
      ask->grant.turn = ask->turn;
      // Without this, the daemon would report a rule as in force that no gate has received.
      if (ask->verb == wire::VaultVerb::kGrant && listening_.empty()) {
        const bool listens = co_await gate_listens_.wait_until(begun_ + kGateLimit);
        static_cast<void>(listens);  // there may be none: it learns all when it comes
      }
      wire::VaultAnswer answer;
      const bool grants = ask->verb == wire::VaultVerb::kGrant;
      const std::string granted = ask->grant.sandbox_id;
      auto done = answer_to(*std::move(ask));
      // Before whoever changed it is answered: nothing goes on by a rule that is gone.
      const std::vector<std::string> changed = std::exchange(changed_, {});
      for (std::size_t i = 0; i < changed.size(); ++i) {
        const OpenRelays::Now now = [this, &id = changed[i]] { return grants_.of(id); };
        co_await open_.judge(changed[i], now);
      }
      if (const auto has = grants && done ? grants_.of(granted) : nullptr)
        answer.unusable = has->unusable;
      if (done) {
        answer.bytes = *std::move(done);
      } else {
        answer.code = number_of(done.error().code);
        answer.reason = done.error().reason;
        answer.message = done.error().message;
      }
      auto sent = co_await gate::send_frame(daemon, wire::encode(answer));
      if (!sent) co_return;
    }
  }

  Result<std::string> answer_to(wire::VaultAsk ask) {
    const auto nothing = [](Result<void> done) -> Result<std::string> {
      if (!done) return std::move(done).error();
      return std::string();
    };
    switch (ask.verb) {
      case wire::VaultVerb::kPublicKey: return keys_.public_key();
      case wire::VaultVerb::kSeal: return seal(ask.secret, ask.bytes);
      case wire::VaultVerb::kGrant: return grants_.grant(std::move(ask.grant));
      case wire::VaultVerb::kRevoke: return nothing(grants_.revoke(ask.names, ask.turn));
      case wire::VaultVerb::kKeepOnly: return nothing(grants_.keep_only(ask.names, ask.turn));
      case wire::VaultVerb::kWithdraw:
        return nothing(grants_.withdraw(ask.secret.tenant, ask.secret.name, ask.secret.version));
      case wire::VaultVerb::kBeginRotation: return nothing(keys_.begin_rotation());
      case wire::VaultVerb::kReseal: return reseal(ask.secret);
      case wire::VaultVerb::kEndRotation: {
        CAY_CHECK(grants_.reseal());
        return nothing(keys_.end_rotation());
      }
      case wire::VaultVerb::kHold: return std::string();
    }
    return Error{Code::kUnsupported, "unknown_verb",
                 "this broker does not know that verb: it is of another release", 0};
  }

  Result<std::string> seal(const wire::VaultSecret& about, const std::string& box) {
    CAY_TRY(const Wiped value, keys_.open_box(about.name, box));
    CAY_CHECK(check_secret_value(value.view()));
    return keys_.seal(about_secret(about), value.view());
  }

  Result<std::string> reseal(const wire::VaultSecret& secret) {
    CAY_TRY(const Wiped value, keys_.unseal(about_secret(secret), secret.sealed));
    return keys_.seal(about_secret(secret), value.view());
  }

  // --- the gate ---

  asio::awaitable<void> serve_gate(UniqueFd fd) {
    Descriptor gate(loop_, fd.release());
    const gate::Counted counted(connected_);
    gate::FrameReader reader;
    UniqueFd guest;
    auto reading = reader.next(gate, &guest);
    auto bytes = co_await with_deadline(std::move(reading), kHelloLimit, "the gate's first word");
    if (!bytes) co_return;
    auto hello = wire::decode<wire::BrokerHello>(*bytes);
    if (!hello) co_return;
    if (!hello->flow) {
      co_await tell_routes(gate);
      co_return;
    }
    if (!guest) co_return;
    const Tell tell = [&gate](const wire::BrokerWord& word) {
      const std::string frame = wire::vault_frame(wire::encode(word));
      // A gate that does not read loses these frames, and nothing else.
      (void)!::send(gate.native_handle(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    Scope serving(loop_.get_executor());
    const AtWork at_work(at_work_, hello->sandbox_id);
    if (at_work.count() > kMostAtWork) co_return tell(too_many(*hello));
    serving.spawn(
        relay(house_, *std::move(hello), std::move(guest), tell, [&serving] { serving.cancel(); }));
    auto all = serving.join();
    // A gate that is gone, or lets the connection go, ends it.
    Scope watching(loop_.get_executor());
    watching.spawn(end_with(gate, serving));
    co_await watching.until(std::move(all));
  }

  static asio::awaitable<void> end_with(Descriptor& gate, Scope& serving) {
    for (;;) {
      co_await gate::readable(gate);
      char byte = 0;
      const ssize_t got = ::recv(gate.native_handle(), &byte, 1, MSG_DONTWAIT);
      if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) continue;
      serving.cancel();
      co_return;
    }
  }

  struct Listening {
    explicit Listening(asio::any_io_executor loop) : news(std::move(loop)) {}
    std::map<std::string, wire::BrokerRoutes> waiting;
    Event news;
  };

  asio::awaitable<void> tell_routes(Descriptor& gate) {
    const auto mine = std::make_shared<Listening>(loop_.get_executor());
    for (wire::BrokerRoutes& one : grants_.routes()) mine->waiting[one.sandbox_id] = std::move(one);
    const Entered entered(listening_, mine);
    gate_listens_.notify();
    Scope watching(loop_.get_executor());
    watching.spawn(end_notices(gate, *mine));
    auto telling = tell_all(gate, *mine);
    auto told = co_await watching.until(std::move(telling));
    static_cast<void>(told);
  }

  static Task<void> tell_all(Descriptor& gate, Listening& mine) {
    bool first = true;
    for (;;) {
      while (!mine.waiting.empty()) {
        const auto next = mine.waiting.begin();
        std::string frame = wire::encode(next->second);
        mine.waiting.erase(next);
        CAY_CO_CHECK(co_await gate::send_frame(gate, std::move(frame)));
      }
      if (std::exchange(first, false)) {
        wire::BrokerRoutes end;
        end.all_told = true;
        CAY_CO_CHECK(co_await gate::send_frame(gate, wire::encode(end)));
      }
      mine.news.reset();
      if (!mine.waiting.empty()) continue;
      co_await mine.news.wait();
      if (mine.waiting.contains("")) co_return Result<void>();
    }
  }

  // The gate sends nothing, so a readable socket means that it has closed.
  static asio::awaitable<void> end_notices(Descriptor& gate, Listening& mine) {
    for (;;) {
      co_await gate::readable(gate);
      char byte = 0;
      const ssize_t got = ::recv(gate.native_handle(), &byte, 1, MSG_DONTWAIT);
      if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) continue;
      mine.waiting[""] = {};
      mine.news.set();
      co_return;
    }
  }

  void notify_gates(const wire::BrokerRoutes& routes) {
    for (const auto& one : listening_) {
      one->waiting[routes.sandbox_id] = routes;
      one->news.set();
    }
  }

  asio::awaitable<void> end_when_idle() {
    Millis idle{0};
    Millis grace = kFirstGrace;
    for (;;) {
      co_await sleep_for(kLookEvery);
      const bool needed = connected_ > 0;
      if (needed) grace = kGrace;
      idle = needed ? Millis{0} : idle + kLookEvery;
      if (idle < grace) continue;
      ::unlinkat(config_.directory, kDaemonSocket, 0);
      ::_exit(0);
    }
  }

  asio::io_context& loop_;
  const BrokerConfig& config_;
  Keyring keys_;
  Grants grants_;
  EncodingCache encodings_;
  gate::Reachable reachable_;
  gate::UpstreamProxy proxy_;
  gate::Resolver resolver_;
  std::unique_ptr<http::Tls> tls_;
  OpenRelays open_;
  const gate::SocketMemory memory_{0, 0, gate::KernelBuffers::of_host()};
  std::map<std::string, std::size_t> at_work_;  // connections, by sandbox
  std::vector<std::string>
      changed_;  // sandboxes whose grant the question that is answered has changed
  RelayHouse house_;
  std::set<std::shared_ptr<Listening>> listening_;
  Event gate_listens_{loop_.get_executor()};
  const Event::Deadline begun_ = std::chrono::steady_clock::now();
  std::size_t connected_ = 0;
  Scope children_;
};

Result<std::unique_ptr<http::Tls>> trust(const std::string& authorities) {
  CAY_TRY(auto tls, http::Tls::create(""));
  if (authorities.empty()) return tls;
  boost::system::error_code error;
  tls->context().add_certificate_authority(asio::buffer(authorities), error);
  if (error)
    return Error{Code::kInvalidArgument, "bad_config",
                 "vault.authorities: no certificates (PEM): " + error.message(), 0};
  return tls;
}

}  // namespace

int run_broker(BrokerConfig config) {
  const auto complain = [](const Error& error) {
    std::fprintf(stderr, "cay broker: %s\n", error.message.c_str());
    return 125;
  };
  auto networks = gate::reachable_networks(config.settings.networks, config.settings.proxy);
  if (!networks) return complain(networks.error());
  os::raise_descriptor_limit();
  Master master;
  master.passphrase = Wiped(std::exchange(config.settings.passphrase, {}));
  master.previous = Wiped(std::exchange(config.settings.previous_passphrase, {}));
  auto keys = Keyring::open(config.directory, std::move(master));
  if (!keys) {
    if (keys.error().reason == "vault_locked") tell_refusal(config.directory, keys.error().message);
    return complain(keys.error());
  }
  ::unlinkat(config.directory, kRefusalFile, 0);
  auto tls = trust(config.settings.authorities);
  if (!tls) return complain(tls.error());
  Openings openings;
  for (const auto& [name, fd] :
       {std::pair{kDaemonSocket, &openings.daemon}, std::pair{kGateSocket, &openings.gate}}) {
    auto made = listen_for_others(config.directory, name);
    if (!made) return complain(made.error());
    *fd = *std::move(made);
  }
  auto telling = open_for_telling(config.directory, kConfinement);
  if (!telling) return complain(telling.error());
  openings.confinement = *std::move(telling);
  const auto confined = confine(config.directory);
  if (!confined) return complain(confined.error());
  const std::string told = std::to_string(*confined) + "\n";
  (void)!::write(openings.confinement.get(), told.data(),
                 told.size());  // if this fails, `cay doctor` shows less
  asio::io_context loop(1);
  Broker broker(loop, config, *std::move(keys), *std::move(networks), *std::move(tls));
  broker.begin(std::move(openings));
  loop.run();
  return 125;
}

}  // namespace cay::vault
