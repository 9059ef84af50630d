#include "gate/gate.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <set>

#include "async/deadline.h"
#include "async/event.h"
#include "async/spawn.h"
#include "gate/confinement.h"
#include "gate/handover.h"
#include "gate/keeper_dialer.h"
#include "gate/sandbox_egress.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"
#include "wire/messages.h"

namespace cay::gate {
namespace {

constexpr const char* kControl = "gate.sock";
constexpr const char* kConfinement = "landlock";  // its version, or 0: for `cay doctor`
constexpr std::string_view kSuffix = ".sock";
constexpr Millis kRetry{2};  // between a socket's name and its listening
constexpr int kRetries = 500;
constexpr Millis kLendLimit{5'000};
constexpr Millis kLookEvery{250};
constexpr Millis kGrace{1'500};  // without anybody who needs it
constexpr Millis kFirstGrace{15'000};

// Everything that any sandbox may hold is a descriptor here. How many connections that is enough
// for.
std::size_t connections_for(std::size_t descriptors) {
  constexpr std::size_t kOthers = 512;  // pipes that are kept, lookups, the sandboxes' own sockets
  if (descriptors == 0) return ConnectionLimiter::kMostConnections;
  return (std::max(descriptors, 2 * kOthers) - kOthers) / ConnectionLimiter::kDescriptorsOfOne;
}

asio::awaitable<void> wait_for_end(Descriptor& at) {
  for (;;) {
    char byte = 0;
    const ssize_t got = ::recv(at.native_handle(), &byte, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) co_return;
    if (got < 0 && errno == EAGAIN) {
      co_await readable(at);
    }
  }
}

// Resources that the process cannot open once it is confined.
struct Openings {
  UniqueFd news;     // of DATA/gate (inotify)
  UniqueFd control;  // gate.sock
  std::size_t most_connections = 0;
  KernelBuffers buffers;
};

Result<Openings> open_all(const GateConfig& config) {
  Openings out;
  out.most_connections = connections_for(os::raise_descriptor_limit());
  out.buffers = KernelBuffers::of_host();
  out.news = UniqueFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!out.news) return Error::from_errno(errno, "watch for sandboxes");
  const std::string path = "/proc/self/fd/" + std::to_string(config.directory) + "/";
  if (::inotify_add_watch(out.news.get(), path.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
    return Error::from_errno(errno, "watch for sandboxes");
  }
  CAY_TRY(out.control, os::listen_unix(config.directory, kControl, ::geteuid(), ::getegid()));
  // The directory gives its files the daemon's group, whose members may connect to see whether the
  // gate serves.
  if (::fchmodat(config.directory, kControl, 0660, 0) != 0)
    return Error::from_errno(errno, "let the daemon reach the gate");
  return out;
}

class Gate {
 public:
  Gate(asio::io_context& loop, const GateConfig& config, policy::Catalogue policies,
       std::vector<Network> networks, const Openings& openings)
      : loop_(loop),
        config_(config),
        keepers_(UniqueFd(config.asks)),
        context_{
            loop.get_executor(),
            config.directory,
            config.rules,
            std::make_shared<const policy::Catalogue>(std::move(policies)),
            Reachable(std::move(networks)),
            Resolver(loop.get_executor(), UpstreamProxy(config.settings.proxy).look_up(look_up)),
            PipePool(),
            openings.most_connections,
            SocketMemory(config.settings.socket_memory, config.settings.socket_memory_total,
                         openings.buffers),
            UpstreamProxy(config.settings.proxy)},
        handover_(loop.get_executor(), keepers_),
        children_(loop.get_executor()) {
    context_.sent_most = config.settings.sandbox_sent;
    context_.received_most = config.settings.sandbox_received;
    context_.handover = &handover_;
    handover_.on_change = [this](const std::string& id) {
      if (const auto found = standing_.find(id); found != standing_.end())
        found->second->check_fences();
    };
  }

  void run() { context_.wakeful.run(loop_); }

  Result<void> begin(Openings openings) {
    // List the existing sockets after the watch has begun, so that none is missed.
    CAY_TRY(const auto names, os::list_dir(config_.directory));
    for (const std::string& name : names) consider(name);
    children_.spawn(watch(std::move(openings.news)));
    children_.spawn(handover_.run());
    children_.spawn(accept_daemons(std::move(openings.control)));
    if (config_.life == Life::kWhileNeeded) children_.spawn(end_when_idle());
    return {};
  }

 private:
  void consider(const std::string& name) {
    if (!name.ends_with(kSuffix)) return;
    const std::string id = name.substr(0, name.size() - kSuffix.size());
    if (!is_sandbox_id(id)) return;  // dialling another name ends the process
    if (!attended_.insert(id).second) return;
    children_.spawn(attend(id));
  }

  asio::awaitable<void> watch(UniqueFd news) {
    Descriptor at(loop_, news.release());
    alignas(inotify_event) char buffer[16 * 1024];
    for (;;) {
      const ssize_t got = ::read(at.native_handle(), buffer, sizeof buffer);
      if (got < 0 && errno == EAGAIN) {
        co_await readable(at);
        continue;
      }
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) co_return;
      for (ssize_t i = 0; i < got;) {
        inotify_event event{};
        std::memcpy(&event, buffer + i, sizeof event);
        if ((event.mask & IN_Q_OVERFLOW) != 0) look_again();
        if (event.len > 0) consider(buffer + i + sizeof event);
        i += static_cast<ssize_t>(sizeof event + event.len);
      }
    }
  }

  void look_again() {
    const auto names = os::list_dir(config_.directory);
    if (!names) return;
    for (const std::string& name : *names) consider(name);
  }

  // One sandbox, from its keeper's socket to its end.
  asio::awaitable<void> attend(std::string id) {
    for (int tries = 0; tries < kRetries; ++tries) {
      auto fd = keepers_.dial(id);
      if (!fd && fd.error().os_errno != ECONNREFUSED && fd.error().os_errno != EAGAIN &&
          fd.error().os_errno != EMFILE)
        break;
      if (fd) {
        std::exception_ptr failure;
        try {
          co_await serve(id, *std::move(fd));
        } catch (...) {
          failure = std::current_exception();
        }
        if (is_cancellation(failure)) std::rethrow_exception(failure);
        if (failure)
          std::fprintf(stderr, "cay gate: a connection of sandbox %s failed within the gate\n",
                       id.c_str());
        // A keeper that listens again under the same name is the sandbox's next start.
        tries = 0;
        if (::faccessat(config_.directory, (id + ".sock").c_str(), F_OK, 0) != 0) break;
      }
      co_await sleep_for(kRetry);
    }
    attended_.erase(id);
  }

  Task<os::Message> borrow(Descriptor& keeper) {
    for (;;) {
      auto message = os::receive_message(keeper.native_handle());
      if (message || message.error().code != Code::kNotReady) co_return message;
      co_await readable(keeper);
    }
  }

  asio::awaitable<void> serve(std::string id, UniqueFd fd) {
    Descriptor keeper(loop_, fd.release());
    auto borrowing = borrow(keeper);
    auto message = co_await with_deadline(std::move(borrowing), kLendLimit);
    if (!message) co_return;
    const auto lent = wire::decode<wire::Lent>(message->bytes);
    const bool fine =
        lent && lent->sandbox_id == id && (message->fds.size() == 2 || message->fds.size() == 4);
    if (!fine) co_return;
    SandboxEgress egress(context_, id, lent->policy, std::move(message->fds));
    const Standing standing(standing_, id, egress);
    Scope serving(loop_.get_executor());
    serving.spawn(egress.run());
    const Counted counted(serving_);
    auto end = wait_for_end(keeper);
    co_await serving.until(std::move(end));
  }

  // Found by its id while it is served.
  class Standing {
   public:
    Standing(std::map<std::string, SandboxEgress*>& all, std::string id, SandboxEgress& egress)
        : all_(all), id_(std::move(id)) {
      all_[id_] = &egress;
    }
    Standing(const Standing&) = delete;
    Standing& operator=(const Standing&) = delete;
    ~Standing() { all_.erase(id_); }

   private:
    std::map<std::string, SandboxEgress*>& all_;
    const std::string id_;
  };

  // A daemon keeps a connection open while it wants a gate, and sends the ids of sandboxes whose
  // policy changed.
  asio::awaitable<void> accept_daemons(UniqueFd control) {
    Descriptor at(loop_, control.release());
    for (;;) {
      UniqueFd fd(::accept4(at.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) {
        if (errno != EAGAIN) {  // out of descriptors
          co_await sleep_for(kRetry);
        }
        co_await readable(at);
        continue;
      }
      children_.spawn(hold(std::move(fd)));
    }
  }

  asio::awaitable<void> hold(UniqueFd fd) {
    Descriptor daemon(loop_, fd.release());
    ++daemons_;
    co_await take_changes(daemon);
    --daemons_;
  }

  // Reads one id after another, while the daemon takes the answers.
  asio::awaitable<void> take_changes(Descriptor& daemon) {
    std::string heard;
    for (;;) {
      char buffer[16 * kIdLength];
      const ssize_t got = ::recv(daemon.native_handle(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) co_return;
      if (got < 0 && errno == EAGAIN) {
        co_await readable(daemon);
        continue;
      }
      if (got > 0) heard.append(buffer, static_cast<std::size_t>(got));
      for (; heard.size() >= kIdLength; heard.erase(0, kIdLength)) {
        const std::string id = heard.substr(0, kIdLength);
        if (!is_sandbox_id(id)) co_return;
        // One that is not served yet is served by what is written then.
        if (const auto found = standing_.find(id); found != standing_.end()) {
          found->second->reload_policy();
          found->second->write_decisions();  // the daemon reads them once it has this answer
        }
        if (::send(daemon.native_handle(), &wire::kPolicyTaken, 1, MSG_DONTWAIT | MSG_NOSIGNAL) !=
            1)
          co_return;
      }
    }
  }

  asio::awaitable<void> end_when_idle() {
    Millis idle{0};
    Millis grace = kFirstGrace;
    for (;;) {
      co_await sleep_for(kLookEvery);
      const bool needed = daemons_ > 0 || serving_ > 0;
      if (needed) grace = kGrace;
      idle = needed ? Millis{0} : idle + kLookEvery;
      if (idle < grace) continue;
      ::unlinkat(config_.directory, kControl, 0);
      ::_exit(0);
    }
  }

  asio::io_context& loop_;
  const GateConfig& config_;
  const KeeperDialer keepers_;
  GateContext context_;
  Handover handover_;
  std::set<std::string> attended_;
  std::map<std::string, SandboxEgress*> standing_;
  std::size_t serving_ = 0, daemons_ = 0;
  Scope children_;
};

}  // namespace

int run_gate(const GateConfig& config) {
  const auto complain = [](const Error& error) {
    std::fprintf(stderr, "cay gate: %s\n", error.message.c_str());
    return 125;
  };
  auto networks = reachable_networks(config.settings.networks, config.settings.proxy);
  if (!networks) return complain(networks.error());
  auto policies = policy::Catalogue::from_texts(config.settings.named, config.settings.policies);
  if (!policies) return complain(policies.error());
  auto openings = open_all(config);
  if (!openings) return complain(openings.error());
  // Before the loop, whose threads would otherwise be outside of it.
  const auto confined = confine(config.directory, config.rules);
  if (!confined) return complain(confined.error());
  if (const auto told =
          os::replace_file(config.directory, kConfinement, std::to_string(*confined) + "\n", 0640);
      !told)
    return complain(told.error());
  asio::io_context loop(1);
  Gate gate(loop, config, *std::move(policies), *std::move(networks), *openings);
  auto begun = gate.begin(*std::move(openings));
  if (!begun) return complain(begun.error());
  gate.run();
  return 125;
}

}  // namespace cay::gate
