#include "vault/broker_requests.h"

#include <sys/socket.h>

#include <optional>
#include <utility>

#include "async/deadline.h"
#include "gate/broker_frames.h"
#include "os/state_line.h"
#include "os/unix_socket.h"
#include "vault/broker.h"

namespace cay::vault {
namespace {

using gate::Descriptor;

constexpr Millis kAnswerLimit{10'000};
constexpr Millis kRetry{50};
constexpr int kRetries = 60;  // a broker that died is back within a moment

Error unavailable(const std::string& why) {
  return {
      Code::kUnavailable, "vault_unavailable",
      "the broker, which keeps secrets, does not answer (" + why +
          "): it is started again by itself; if that lasts, see DATA/broker.log and `cay doctor`",
      0};
}

// Returns the reason that the broker left when it refused to serve, if there is one.
std::optional<Error> locked(const std::string& socket) {
  const std::string why = os::state_line(socket.substr(0, socket.rfind('/') + 1) + kRefusalFile);
  if (why.empty() || os::connect_unix(socket, SOCK_NONBLOCK)) return std::nullopt;
  return Error{Code::kUnavailable, "vault_locked",
               why +
                   "; then start the broker anew (systemctl restart cay-broker; without units: cay "
                   "broker --stop, and cay serve again)",
               0};
}

}  // namespace

Task<std::string> BrokerRequests::send_once(std::string request) {
  auto fd = os::connect_unix(path_, SOCK_NONBLOCK);
  if (!fd) {
    Error nobody{Code::kUnavailable, "vault_unavailable", std::move(fd).error().message, 0};
    co_return nobody;
  }
  Descriptor broker(loop_, fd->release());
  CAY_CO_CHECK(co_await gate::send_frame(broker, std::move(request)));
  gate::FrameReader reader;
  auto answer = co_await reader.next(broker);
  co_return answer;
}

Task<wire::VaultAnswer> BrokerRequests::response(wire::VaultAsk request) {
  const std::string encoded = wire::encode(request);
  Result<std::string> answer;
  for (int i = 0; i < kRetries; ++i) {
    auto sending = send_once(encoded);
    answer = co_await with_deadline(std::move(sending), kAnswerLimit, "the broker's answer");
    if (answer ||
        (answer.error().reason != "vault_unavailable" && answer.error().reason != "peer_gone"))
      break;
    co_await sleep_for(kRetry);
  }
  if (!answer) co_return locked(path_).value_or(unavailable(answer.error().message));
  auto read = wire::decode<wire::VaultAnswer>(*answer);
  if (!read) co_return unavailable("its answer cannot be read");
  if (read->code != 0) {
    const bool known = read->code <= static_cast<std::uint8_t>(Code::kInternal);
    co_return Error{known ? static_cast<Code>(read->code) : Code::kInternal,
                    std::move(read->reason), std::move(read->message), 0};
  }
  co_return *std::move(read);
}

Task<std::string> BrokerRequests::bytes(wire::VaultAsk request) {
  CAY_CO_TRY(wire::VaultAnswer answer, co_await response(std::move(request)));
  co_return std::move(answer.bytes);
}

Task<void> BrokerRequests::done(wire::VaultAsk request) {
  auto done = co_await bytes(std::move(request));
  if (!done) co_return std::move(done).error();
  co_return Result<void>();
}

Task<void> BrokerRequests::attend(std::function<Task<void>()> send) {
  auto fd = os::connect_unix(path_, SOCK_NONBLOCK);
  if (!fd) co_return locked(path_).value_or(unavailable(fd.error().message));
  Descriptor broker(loop_, fd->release());
  wire::VaultAsk request;
  request.verb = wire::VaultVerb::kHold;
  CAY_CO_CHECK(co_await gate::send_frame(broker, wire::encode(request)));
  gate::FrameReader reader;
  auto reading = reader.next(broker);
  const auto answer =
      co_await with_deadline(std::move(reading), kAnswerLimit, "the broker's answer");
  if (!answer) co_return unavailable(answer.error().message);
  CAY_CO_CHECK(co_await send());
  for (bool there = true; there;) {
    const auto more = co_await reader.next(broker);
    there = more.has_value();
  }
  co_return Result<void>();
}

}  // namespace cay::vault
