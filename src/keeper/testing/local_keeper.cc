#include "keeper/testing/local_keeper.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cay::keeper::testing {
namespace {

void require(bool fine, const char* what) {
  if (!fine) throw std::runtime_error(what);
}

UniqueFd listen_unix(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  require(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  require(::listen(fd.get(), 8) == 0, "listen");
  return fd;
}

UniqueFd listen_tcp(int& port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  require(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  require(::listen(fd.get(), 8) == 0, "listen");
  require(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
          "getsockname");
  port = ntohs(address.sin_port);
  return fd;
}

long status_kib(pid_t pid, const std::string& key) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stol(line.substr(key.size() + 1));
  }
  return -1;
}

}  // namespace

LocalKeeper::LocalKeeper(Transport transport, const std::function<void(Context&)>& change,
                         const std::function<void(Context&)>& inside)
    : transport_(transport) {
  require(::mkdir(spool_.c_str(), 0750) == 0, "mkdir");
  UniqueFd listener = transport == Transport::kUnix ? listen_unix(address_) : listen_tcp(port_);
  UniqueFd spool(::open(spool_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Context context;
  context.sandbox_id = "11111111-1111-4111-8111-111111111111";
  context.instance = "test";
  context.build = "test";
  context.listen_fd = listener.get();
  context.daemon = PeerCredentials{::getuid()};
  if (transport == Transport::kTcp) context.daemon = SharedKey{key()};
  context.spool_fd = spool.get();
  if (change) change(context);
  pid_ = ::fork();
  require(pid_ >= 0, "fork");
  if (pid_ == 0) {
    if (inside) inside(context);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(context);
  }
}

LocalKeeper::~LocalKeeper() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

UniqueFd LocalKeeper::connect() const {
  if (transport_ == Transport::kTcp) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    require(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
            "connect");
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  address_.copy(address.sun_path, sizeof address.sun_path - 1);
  require(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
          "connect");
  return fd;
}

Client LocalKeeper::client() const {
  Client client(connect(), key());
  client.hello();
  return client;
}

long LocalKeeper::rss_kib() const { return status_kib(pid_, "VmRSS"); }
long LocalKeeper::peak_kib() const { return status_kib(pid_, "VmHWM"); }

long LocalKeeper::cpu_ticks() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string all;
  std::getline(stat, all);
  std::istringstream fields(all.substr(all.rfind(')') + 2));
  constexpr int kUser = 11;  // proc(5), counted from the state
  long user = 0, system = 0;
  std::string skipped;
  for (int i = 0; i < kUser; ++i) fields >> skipped;
  fields >> user >> system;
  return user + system;
}

int LocalKeeper::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

wire::StartCommand command(std::string id, std::vector<std::string> argv) {
  wire::StartCommand request;
  request.command_id = std::move(id);
  request.argv = std::move(argv);
  request.env = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  request.cwd = "/";
  return request;
}

wire::StartCommand shell(std::string id, std::string script) {
  return command(std::move(id), {"/bin/sh", "-c", std::move(script)});
}

}  // namespace cay::keeper::testing
