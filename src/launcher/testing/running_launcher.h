// RunningLauncher: a real launcher on a temporary data directory, a client for its socket, and
// counts of everything that it could leave behind.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/temp_dir.h"
#include "launcher/guardian.h"
#include "launcher/slots.h"
#include "os/cgroup_layout.h"
#include "os/file.h"
#include "wire/frame.h"
#include "wire/messages.h"

namespace cay::launcher::testing {

inline const std::string kSnapshot = "00000000-0000-4000-8000-000000000001";

inline std::string test_uuid(unsigned number) {
  char text[40];
  std::snprintf(text, sizeof text, "10000000-0000-4000-8000-%012x", number);
  return text;
}

// A blocking client of the launcher's protocol.
class Client {
 public:
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
    const timeval limit{60, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      fd_.reset();
  }
  bool connected() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }

  template <class M>
  bool send(wire::Type type, std::uint32_t channel, const M& message) {
    return send_raw(
        wire::encode_frame({static_cast<std::uint16_t>(type), 0, channel, wire::encode(message)}));
  }
  bool send_raw(const std::string& bytes) {
    return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  std::optional<wire::Frame> next() {
    for (;;) {
      if (auto frame = reader_.next()) return frame;
      char buffer[65536];
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) return std::nullopt;
      reader_.feed({buffer, static_cast<std::size_t>(n)});
    }
  }
  bool greet() {
    wire::Hello hello;
    hello.role = "daemon";
    if (!send(wire::Type::kHello, 0, hello)) return false;
    const auto answer = next();
    if (!answer || answer->type != static_cast<std::uint16_t>(wire::Type::kHello)) return false;
    theirs = wire::decode<wire::Hello>(answer->payload).value_or(wire::Hello{});
    return true;
  }
  // The first frame of this request's channel; events are kept aside.
  template <class M>
  std::optional<wire::Frame> ask(wire::Type type, const M& message) {
    const std::uint32_t channel = ++channel_;
    if (!send(type, channel, message)) return std::nullopt;
    return answer(channel);
  }
  std::optional<wire::Frame> answer(std::uint32_t channel) {
    while (auto frame = next()) {
      if (frame->channel == channel) return frame;
      if (frame->channel == 0) events.push_back(*frame);
    }
    return std::nullopt;
  }
  std::uint32_t last_channel() const { return channel_; }
  std::vector<wire::Frame> events;
  wire::Hello theirs;  // once greeted

 private:
  UniqueFd fd_;
  wire::FrameReader reader_;
  std::uint32_t channel_ = 0;
};

inline wire::Type type_of(const std::optional<wire::Frame>& frame) {
  return frame ? static_cast<wire::Type>(frame->type) : wire::Type::kEof;
}
inline std::string error_of(const std::optional<wire::Frame>& frame) {
  if (!frame) return "no answer";
  if (type_of(frame) != wire::Type::kError) return "type " + std::to_string(frame->type);
  const auto error = wire::decode<wire::ErrorMsg>(frame->payload);
  return error ? error->reason + ": " + error->message : "broken error";
}

inline wire::CreateSandbox request_for(const std::string& id) {
  wire::CreateSandbox request;
  request.sandbox_id = id;
  request.hostname = "box";
  request.snapshot_id = kSnapshot;
  request.cpu_millicores = 1000;
  request.memory_bytes = std::uint64_t{64} << 20;
  request.disk_bytes = std::uint64_t{32} << 20;
  request.pids = 64;
  return request;
}

class RunningLauncher {
 public:
  explicit RunningLauncher(Config options = {}) {
    options_ = std::move(options);
    make_layer();
    start();
  }
  ~RunningLauncher() {
    if (guardian > 0) {
      if (auto client = connect()) {
        for (const auto& entry : list(*client))
          (void)client->ask(wire::Type::kDestroy, wire::SandboxRef{entry.sandbox_id});
      }
      end();
    }
    for (const std::string& tree : cgroup_roots())
      ::rmdir((tree + options_.cgroup_parent + "/cay-" + instance).c_str());
  }

  void start() {
    int ready[2];
    (void)!::pipe2(ready, O_CLOEXEC);
    guardian = ::fork();
    if (guardian == 0) {
      harden_process();
      Config config = options_;
      config.data = data;
      config.instance = instance;
      config.build = "test";
      config.ground_ahead = ground_ahead_;
      config.arguments = program_invocation_name;  // argv[0], where it is
      config.arguments_size = std::strlen(program_invocation_name) + 1;
      if (config.pool_bytes == 0) config.pool_bytes = std::uint64_t{512} << 20;
      config.on_ready = [&] { (void)!::write(ready[1], "x", 1); };
      ::_exit(run_guardian(std::move(config)));
    }
    ::close(ready[1]);
    char byte = 0;
    is_ready = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  // As an operator ends it; sandboxes live on.
  int end() {
    ::kill(guardian, SIGTERM);
    int status = 0;
    ::waitpid(guardian, &status, 0);
    guardian = 0;
    return status;
  }

  std::unique_ptr<Client> connect() {
    auto client = std::make_unique<Client>(data + "/run/launcher.sock");
    if (!client->connected() || !client->greet()) return nullptr;
    return client;
  }
  static std::vector<wire::SandboxEntry> list(Client& client) {
    std::vector<wire::SandboxEntry> entries;
    auto frame = client.ask(wire::Type::kListSandboxes, wire::Empty{});
    while (type_of(frame) == wire::Type::kSandboxEntry) {
      entries.push_back(*wire::decode<wire::SandboxEntry>(frame->payload));
      frame = client.answer(client.last_channel());
    }
    return entries;
  }
  // Runs the guest program inside; its output, and "exit N".
  std::string run(const std::string& id, const std::vector<std::string>& args) {
    Client client(data + "/run/" + id + ".sock");
    if (!client.connected()) return "cannot connect";
    std::string text = "/bin/guest";
    for (const std::string& arg : args) text += "\n" + arg;
    (void)client.send_raw(text);
    ::shutdown(client.fd(), SHUT_WR);
    std::string out;
    char buffer[65536];
    for (ssize_t n = 0; (n = ::recv(client.fd(), buffer, sizeof buffer, 0)) > 0;) {
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }

  void set_fail_step(std::string step) {
    options_.fail_step = std::move(step);
  }  // of the next start
  // For the next start. Tests that count processes do without.
  void set_ground_ahead() { ground_ahead_ = true; }
  void set_cgroup_parent(std::string parent) {
    options_.cgroup_parent = std::move(parent);
  }  // of the next start

  pid_t worker() const {
    const std::string path =
        "/proc/" + std::to_string(guardian) + "/task/" + std::to_string(guardian) + "/children";
    std::ifstream in(path);
    for (pid_t pid = 0; in >> pid;) {
      std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
      std::string name;
      if (std::getline(comm, name) && name == "cay-launcher-w") return pid;
    }
    return 0;
  }

  static std::vector<std::string> cgroup_roots() {
    const auto text = os::read_file(AT_FDCWD, "/proc/self/mountinfo", 4 << 20);
    const auto layout = os::cgroup_layout_of(*text);
    std::vector<std::string> roots;
    for (const std::string& mount :
         {layout.v2, layout.memory, layout.cpu, layout.cpuacct, layout.pids}) {
      if (!mount.empty()) roots.push_back(mount);
    }
    return roots;
  }

  // Everything this instance has on the host, by kind.
  std::map<std::string, std::vector<std::string>> traces() const {
    std::map<std::string, std::vector<std::string>> found;
    const auto uuids_in = [&](const std::string& kind, const std::string& path) {
      auto dir = os::open_dir(AT_FDCWD, path);
      if (!dir) return;
      const auto names = os::list_dir(dir->get());
      for (const std::string& name : *names) {
        if (name.size() >= 36 && name[0] == '1') found[kind].push_back(name);
      }
    };
    for (const std::string& root : cgroup_roots())
      uuids_in("cgroup", root + options_.cgroup_parent + "/cay-" + instance);
    uuids_in("record", data + "/sandboxes");
    uuids_in("spool", data + "/spool");
    uuids_in("socket", data + "/run");
    uuids_in("disk", "/proc/" + std::to_string(guardian) + "/root" + data + "/store");
    const auto proc = os::open_dir(AT_FDCWD, "/proc");
    const auto pids = os::list_dir(proc->get());
    for (const std::string& name : *pids) {
      std::ifstream status("/proc/" + name + "/status");
      unsigned long uid = 0;
      bool zombie = false;  // of an orphan: the host's own init reaps it when it likes
      for (std::string line; std::getline(status, line);) {
        zombie = zombie || line.starts_with("State:\tZ");
        if (line.starts_with("Uid:")) uid = std::strtoul(line.c_str() + 4, nullptr, 10);
      }
      // Not by a stream: its iterator throws when the process is gone between open and read.
      const auto groups = os::read_file(AT_FDCWD, "/proc/" + name + "/cgroup", 1 << 16);
      const std::string all = groups ? *groups : "";
      if (!zombie && uid >= kKeeperBase && uid < kRangeEnd &&
          all.find(instance) != std::string::npos)
        found["process"].push_back(name);
    }
    return found;
  }
  // Names below DATA/store that begin so.
  std::vector<std::string> stored(const std::string& prefix) const {
    return names_with("/proc/" + std::to_string(guardian) + "/root" + data + "/store", prefix);
  }
  std::vector<std::string> names_with(const std::string& path, const std::string& prefix) const {
    std::vector<std::string> found;
    const auto dir = os::open_dir(AT_FDCWD, path);
    const auto names = dir ? os::list_dir(dir->get()) : Result<std::vector<std::string>>();
    if (!names) return found;
    for (const std::string& name : *names) {
      if (name.starts_with(prefix)) found.push_back(name);
    }
    return found;
  }
  std::size_t mounts() const {
    std::ifstream in("/proc/" + std::to_string(guardian) + "/mountinfo");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }

  const cay::testing::TempDir home{0711};
  const std::string& data = home.path();
  const std::string instance =
      "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count_);
  pid_t guardian = 0;
  bool is_ready = false;

 private:
  void make_layer() {
    const std::string root = data + "/layers/" + kSnapshot + "/root";
    for (const std::string& dir :
         {data + "/layers", data + "/layers/" + kSnapshot, root, root + "/bin", root + "/etc",
          root + "/proc", root + "/sys", root + "/dev", root + "/tmp", root + "/run"}) {
      ::mkdir(dir.c_str(), 0755);
      ::chmod(dir.c_str(), 0755);
    }
    ::chmod((data + "/layers").c_str(), 0700);
    std::ifstream in(CAY_GUEST_PROGRAM, std::ios::binary);
    std::ofstream out(root + "/bin/guest", std::ios::binary);
    out << in.rdbuf();
    out.close();
    ::chmod((root + "/bin/guest").c_str(), 0755);
    std::ofstream(root + "/etc/hostname") << "of-the-snapshot\n";
    std::ofstream(root + "/etc/resolv.conf")
        << "nameserver 127.0.0.1\n";  // as snapshots had it before there was a way out
  }

  Config options_;
  bool ground_ahead_ = false;
  static inline int count_ = 0;
};

}  // namespace cay::launcher::testing
