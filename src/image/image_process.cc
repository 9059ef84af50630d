#include "image/image_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "image/blob_store.h"
#include "image/confinement.h"
#include "image/conversation.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace cay::image {
namespace {

constexpr std::size_t kMostConversations = 8;  // the others wait
constexpr std::size_t kMostConnections = 256;
constexpr auto kGrace = std::chrono::milliseconds(1'500);
constexpr auto kFirstGrace = std::chrono::milliseconds(15'000);
constexpr int kLookMs = 250;
// A pull needs some 20 MB. zstd may demand a window of 128 MiB, and each thread reserves a stack.
constexpr rlim_t kMostAddresses = rlim_t{1} << 30;

int complain(const std::string& why) {
  std::fprintf(stderr, "cay images: %s\n", why.c_str());
  return 1;
}

// In the process that serves one conversation. Never returns.
[[noreturn]] void serve(UniqueFd connection, const ProcessConfig& config, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::prctl(PR_SET_NAME, "cay-images-c", 0, 0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::fcntl(connection.get(), F_SETFL, 0);  // it blocks
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  const rlimit most{kMostAddresses, kMostAddresses};
  ::setrlimit(RLIMIT_AS, &most);
#endif
  UniqueFd authorities;
  if (!config.settings.authorities.empty())
    authorities = UniqueFd(::open(config.settings.authorities.c_str(), O_PATH | O_CLOEXEC));
  const auto confined = confine(config.directory, authorities.get());
  if (!confined) ::_exit(complain(confined.error().message));
  try {
    auto store = BlobStore::open(config.directory);
    if (!store) ::_exit(complain(store.error().message));
    store->trim(config.settings.cache_bytes);
    converse(std::move(connection), *std::move(store), config.settings);
  } catch (const std::exception& error) {
    ::_exit(complain(error.what()));
  }
  ::_exit(0);
}

class Acceptor {
 public:
  Acceptor(const ProcessConfig& config, UniqueFd listener, UniqueFd news)
      : config_(config), listener_(std::move(listener)), news_(std::move(news)) {}

  int run() {
    auto needed_until = std::chrono::steady_clock::now() + kFirstGrace;
    for (;;) {
      wait();
      reap();
      const auto now = std::chrono::steady_clock::now();
      if (!waiting_.empty() || running_ > 0) needed_until = std::max(needed_until, now + kGrace);
      if (config_.life == Life::kWhileNeeded && now > needed_until) return 0;
    }
  }

 private:
  void wait() {
    std::vector<pollfd> looks{{listener_.get(), POLLIN, 0}, {news_.get(), POLLIN, 0}};
    const bool has_room = running_ < kMostConversations;
    for (const UniqueFd& one : waiting_)
      looks.push_back({one.get(), static_cast<short>(has_room ? POLLIN : POLLRDHUP), 0});
    if (::poll(looks.data(), looks.size(), kLookMs) <= 0) return;
    for (std::size_t i = waiting_.size(); i-- > 0;) {
      if (looks[i + 2].revents != 0) look_at(i);
    }
    if (looks[0].revents != 0) accept();
  }

  // The watcher's connection only shows that we are needed. A conversation begins with its first
  // bytes.
  void look_at(std::size_t index) {
    char byte = 0;
    const ssize_t n = ::recv(waiting_[index].get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0 && running_ >= kMostConversations) return;
    UniqueFd connection = std::move(waiting_[index]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    if (n <= 0) return;
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      listener_ = UniqueFd();
      news_ = UniqueFd();
      waiting_.clear();
      serve(std::move(connection), config_, parent);
    }
    if (child > 0) {
      ++running_;
    } else {
      complain("fork failed");
    }
  }

  void accept() {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const auto daemon = static_cast<uid_t>(config_.settings.daemon);
    if (!connection || waiting_.size() >= kMostConnections ||
        !os::peer_is(connection.get(), daemon))
      return;
    waiting_.push_back(std::move(connection));
  }

  void reap() {
    signalfd_siginfo told{};
    while (::read(news_.get(), &told, sizeof told) > 0) {
    }
    int status = 0;
    while (::waitpid(-1, &status, WNOHANG) > 0) {
      --running_;
      if (WIFSIGNALED(status))
        complain("a conversation was ended by signal " + std::to_string(WTERMSIG(status)));
    }
  }

  const ProcessConfig& config_;
  UniqueFd listener_, news_;
  std::vector<UniqueFd> waiting_;
  std::size_t running_ = 0;
};

Result<int> run(const ProcessConfig& config) {
  os::raise_descriptor_limit();  // an image of 1000 layers holds that many files
  CAY_TRY(UniqueFd blobs,
          os::ensure_dir(config.directory, "blobs", ::geteuid(), ::getegid(), 0700));
  CAY_TRY(UniqueFd listener, os::listen_unix(config.directory, kSocket, ::geteuid(), ::getegid()));
  // The directory gives its files the daemon's group.
  if (::fchmodat(config.directory, kSocket, 0660, 0) != 0)
    return Error::from_errno(errno, "let the daemon reach the image process");
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  UniqueFd news(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!news) return Error::from_errno(errno, "signalfd");
  return Acceptor(config, std::move(listener), std::move(news)).run();
}

}  // namespace

int run_images(const ProcessConfig& config) {
  const auto done = run(config);
  return done ? *done : complain(done.error().message);
}

}  // namespace cay::image
