#include "gate/keeper_dialer.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/ascii.h"
#include "os/unix_socket.h"

namespace cay::gate {
namespace {

// The gate's loop waits meanwhile, with all that it moves. The other end does nothing else and
// never waits, so an answer takes microseconds unless it was stopped or the host is overloaded.
// Then the loop goes on, and the caller tries again.
constexpr timeval kAnswerLimit{0, 250'000};

}  // namespace

bool is_sandbox_id(std::string_view text) {
  return text.size() == kIdLength &&
         std::ranges::all_of(text, [](char c) { return is_lower_hex(c) || c == '-'; });
}

Result<UniqueFd> KeeperDialer::dial(const std::string& sandbox_id) const {
  ::setsockopt(requests_.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerLimit, sizeof kAnswerLimit);
  CAY_CHECK(os::send_message(requests_.get(), sandbox_id));
  for (;;) {
    CAY_TRY(os::Message answer, os::receive_message(requests_.get()));
    if (answer.bytes.empty()) return Error::from_errno(ECONNRESET, "reach the keeper");
    if (!answer.bytes.starts_with(sandbox_id)) continue;  // of a question that was given up
    if (answer.fds.size() == 1) return std::move(answer.fds.front());
    int err = EMFILE;  // it came, and there was no descriptor for it
    std::from_chars(answer.bytes.data() + sandbox_id.size(),
                    answer.bytes.data() + answer.bytes.size(), err);
    return Error::from_errno(err, "reach the keeper");
  }
}

bool answer_dial(int requests, int gate_directory) {
  const auto asked = os::receive_message(requests);
  if (!asked && asked.error().code == Code::kNotReady) return true;
  if (!asked || asked->bytes.empty()) return false;
  const std::string& id = asked->bytes;
  if (!is_sandbox_id(id) && id != kBrokerWord)
    return false;  // it may come from a gate that was taken over
  const std::string name = id == kBrokerWord ? "../vault/gate.sock" : id + ".sock";
  const auto fd = os::connect_unix("/proc/self/fd/" + std::to_string(gate_directory) + "/" + name,
                                   SOCK_NONBLOCK);
  if (fd) return os::send_message(requests, id, {fd->get()}).has_value();
  return os::send_message(requests, id + std::to_string(fd.error().os_errno)).has_value();
}

}  // namespace cay::gate
