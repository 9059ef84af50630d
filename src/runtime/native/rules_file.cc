#include "runtime/native/rules_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "async/deadline.h"
#include "os/exact_file.h"
#include "os/file.h"
#include "os/unix_socket.h"
#include "wire/network_questions.h"
#include "wire/routes_file.h"

namespace cay::runtime {
namespace {

using Descriptor = asio::posix::stream_descriptor;

constexpr Millis kGateLimit{2'000};
constexpr Millis kWriteLimit{500};
constexpr mode_t kMode = 0644;  // the directory lets in nobody but the gate's group

Error not_in_force(const std::string& why) {
  return {Code::kUnavailable, "policy_not_in_force",
          "the policy is kept, and it is not certain that the gate goes by it yet: " + why, 0};
}

// One byte of the gate's, or its end.
Task<bool> answered(Descriptor& gate) {
  for (;;) {
    char byte = 0;
    const ssize_t got = ::recv(gate.native_handle(), &byte, 1, MSG_DONTWAIT);
    if (got == 1) co_return byte == wire::kPolicyTaken;
    if (got == 0) co_return true;  // the next one reads the file before it serves
    if (errno != EAGAIN && errno != EINTR) co_return true;
    if (errno == EAGAIN) {
      co_await gate.async_wait(Descriptor::wait_read, asio::use_awaitable);
    }
  }
}

}  // namespace

Result<void> write_rules(const std::string& data, const SandboxId& id,
                         const wire::SandboxPolicy& policy) {
  const auto directory = os::open_dir(AT_FDCWD, data + "/rules");
  if (!directory) return not_in_force("no gate has begun here yet");
  const auto done =
      os::replace_file_exactly(directory->get(), id.get(), wire::encode(policy), kMode);
  if (done) return {};
  return not_in_force(Error::from_errno(done.error().os_errno, "write the rules").message);
}

Result<void> remove_rules(const std::string& data, const SandboxId& id) {
  const std::string path = data + "/rules/" + id.get();
  ::unlink((path + wire::kAnswersSuffix).c_str());  // of questions that are nobody's now
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return Error::from_errno(errno, "remove what a sandbox could reach before");
  return {};
}

void keep_rules_of(const std::string& data, const std::set<SandboxId>& known) {
  const auto directory = os::open_dir(AT_FDCWD, data + "/rules");
  if (!directory) return;
  const auto names = os::list_dir(directory->get());
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string id =
        name.ends_with(wire::kRoutesSuffix)
            ? name.substr(0, name.size() - std::string_view(wire::kRoutesSuffix).size())
            : name;
    if (!known.contains(SandboxId(id))) ::unlinkat(directory->get(), name.c_str(), 0);
  }
}

namespace {

Task<void> told_gate(asio::any_io_executor loop, std::string data, SandboxId id, Millis limit) {
  auto fd = os::connect_unix(data + "/gate/gate.sock", SOCK_NONBLOCK);
  if (!fd) {
    const int err = fd.error().os_errno;
    if (err == ECONNREFUSED || err == ENOENT)
      co_return Result<void>();  // none serves: nothing is open, and the next one reads it
    co_return not_in_force(fd.error().message);
  }
  Descriptor gate(loop, fd->release());
  if (::send(gate.native_handle(), id.get().data(), id.get().size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
      static_cast<ssize_t>(id.get().size())) {
    co_return Result<void>();  // it ended
  }
  auto waiting = answered(gate);
  const auto taken = co_await with_deadline(std::move(waiting), limit, "the gate's word");
  if (!taken || !*taken)
    co_return not_in_force(taken ? "it answered otherwise" : "it did not answer within 2 s");
  co_return Result<void>();
}

}  // namespace

Task<void> tell_gate(asio::any_io_executor loop, std::string data, SandboxId id) {
  auto told = co_await told_gate(std::move(loop), std::move(data), std::move(id), kGateLimit);
  co_return told;
}

asio::awaitable<void> gate_has_written(asio::any_io_executor loop, std::string data, SandboxId id) {
  auto told = co_await told_gate(std::move(loop), std::move(data), std::move(id), kWriteLimit);
  static_cast<void>(told);
}

}  // namespace cay::runtime
