#include "runtime/native/gate_state.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/unique_fd.h"
#include "os/unix_socket.h"

namespace cay::runtime {
namespace {

constexpr off_t kMost = 2 << 20;

// The directory is the gate's user's, who is not believed: it may be no file at all.
std::string read_its(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > kMost) return {};
  std::string out(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = ::pread(fd.get(), out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

// What it told of its own walls when it began to serve.
std::string confinement_of(const std::string& data) {
  const std::string told = read_its(data + "/gate/landlock");
  if (told.empty()) return "";  // of a release that did not say, or not for us to read
  const long abi = std::strtol(told.c_str(), nullptr, 10);
  if (abi <= 0) return ", behind a filter of system calls; without Landlock, which the kernel has not";
  return ", behind a filter of system calls and Landlock (ABI " + std::to_string(abi) + ")";
}

// Why it does not answer, if it does not. A full backlog (EAGAIN) is that of one who listens, and has many at once.
std::optional<std::string> why_silent(const std::string& data) {
  const auto fd = os::connect_unix(data + "/gate/gate.sock", SOCK_NONBLOCK);
  if (fd || fd.error().os_errno == EAGAIN) return std::nullopt;
  return fd.error().os_errno != 0 ? std::strerror(fd.error().os_errno) : fd.error().message;
}

}  // namespace

std::string gate_goes_by(const std::string& data) { return read_its(data + "/gate/lock"); }

bool gate_serves(const std::string& data) { return !why_silent(data); }

core::Feature gate_feature(const std::string& data, const std::string& wanted) {
  if (const auto why = why_silent(data)) {
    return {"gate", false, "does not answer (" + *why + ")", "what sandboxes send out waits for it",
            "see " + data + "/gate.log; cay serve starts it, or the unit cay-gate"};
  }
  const std::string told = gate_goes_by(data);
  if (wanted.empty() || told.empty() || told == wanted) return {"gate", true, "serves" + confinement_of(data), "", ""};
  return {"gate", false, "serves, by other settings (network, mirrors) than the daemon's, or as another release", "what it began with holds",
          "systemctl restart cay-gate (without units: start cay serve again); what is open through it is reset"};
}

}  // namespace cay::runtime
