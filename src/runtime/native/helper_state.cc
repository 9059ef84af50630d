#include "runtime/native/helper_state.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "os/file.h"
#include "os/state_line.h"
#include "os/unix_socket.h"

namespace cay::runtime {
namespace {

constexpr std::size_t kMost = 2 << 20;

// The directory is another user's, who is not believed: it may be no file at all.
std::string read_its(const std::string& path) {
  return os::read_file(AT_FDCWD, path, kMost).value_or("");
}

// Returns the walls that it reported when it began to serve.
std::string confinement_of(const std::string& directory) {
  const std::string told = read_its(directory + "/landlock");
  if (told.empty()) return "";  // of an older release, or not readable for us
  const long abi = std::strtol(told.c_str(), nullptr, 10);
  if (abi <= 0)
    return ", behind a filter of system calls; without Landlock, which the kernel has not";
  return ", behind a filter of system calls and Landlock (ABI " + std::to_string(abi) + ")";
}

// Why it does not answer, if it does not. A full backlog (EAGAIN) is that of one who listens, and
// has many at once.
std::optional<std::string> why_silent(const std::string& socket) {
  const auto fd = os::connect_unix(socket, SOCK_NONBLOCK);
  if (fd || fd.error().os_errno == EAGAIN) return std::nullopt;
  return fd.error().os_errno != 0 ? std::strerror(fd.error().os_errno) : fd.error().message;
}

std::string gate_socket(const std::string& data) { return data + "/gate/gate.sock"; }
std::string broker_socket(const std::string& data) { return data + "/vault/daemon.sock"; }

}  // namespace

bool gate_serves(const std::string& data) { return !why_silent(gate_socket(data)); }
bool broker_serves(const std::string& data) { return !why_silent(broker_socket(data)); }

core::Feature gate_feature(const std::string& data, const std::string& wanted) {
  if (const auto why = why_silent(gate_socket(data))) {
    return {"gate", false, "does not answer (" + *why + ")", "what sandboxes send out waits for it",
            "see " + data + "/gate.log; cay serve starts it, or the unit cay-gate"};
  }
  // The release and settings of the last gate that began there, as gate_identity() in apps/cay
  // writes them. Empty: an older release, no gate yet, or not readable for us.
  const std::string told = read_its(data + "/gate/lock");
  if (wanted.empty() || told.empty() || told == wanted)
    return {"gate", true, "serves" + confinement_of(data + "/gate"), "", ""};
  return {
      "gate", false,
      "serves, by other settings (network, mirrors) than the daemon's, or as another release",
      "what it began with holds",
      "systemctl restart cay-gate (without units: start cay serve again); what is open through it "
      "is reset"};
}

core::Feature vault_feature(const std::string& data) {
  if (const auto why = why_silent(broker_socket(data))) {
    if (const std::string said = os::state_line(data + "/vault/refused"); !said.empty()) {
      return {"vault", false, said + " (vault_locked)",
              "secrets are neither set nor used, and sandboxes with rules for them do not start",
              "then start the broker anew: systemctl restart cay-broker (without units: cay broker "
              "--stop, and cay serve again)"};
    }
    return {"vault", false, "its broker does not answer (" + *why + ")",
            "secrets are neither set nor used, and sandboxes with rules for them do not start",
            "see " + data + "/broker.log; cay serve starts it, or the unit cay-broker"};
  }
  return {"vault", true, "serves" + confinement_of(data + "/vault"), "", ""};
}

}  // namespace cay::runtime
