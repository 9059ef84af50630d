// Connections that are the broker's: handed over, and told of by what it says.
#include <optional>

#include "async/deadline.h"
#include "gate/broker_frames.h"
#include "gate/door.h"
#include "gate/handover.h"
#include "os/unix_socket.h"
#include "wire/vault_frame.h"

namespace cay::gate {
namespace {

constexpr int kDials = 10;  // a broker that died is back within a moment
constexpr Millis kDialAgain{50};

asio::awaitable<Result<UniqueFd>> reach_broker(const Handover& handover) {
  auto fd = handover.dial();
  for (int tries = 1; !fd && tries < kDials; ++tries) {
    co_await sleep_for(kDialAgain);
    fd = handover.dial();
  }
  co_return fd;
}

}  // namespace

// From here on the guest's socket is the broker's: whatever becomes of us, it ends it. What we keep of it is for its end alone.
asio::awaitable<void> Door::hand_over(Descriptor guest, Endpoint meant, std::string host, std::string first, Buffers buffers) {
  // Under a wildcard the broker would ask for any name.
  if (!host.empty() && !may_look_up(host)) co_return;
  Decisions::What what{.host = host, .address = meant.address.text(), .port = meant.port, .allowed = true, .reason = "vault_unavailable"};
  auto fd = co_await reach_broker(*house_.handover);
  if (!fd) {
    note(what);
    co_return;
  }
  const bool by_policy = !host.empty() && !house_.handover->takes(id_, host, meant.port);
  const bool changed = !standing_.opens_rules || (by_policy && !has_fenced(host, meant.port));
  if (changed || left_.is_used_up()) {  // meanwhile
    what.allowed = false;
    what.reason = changed ? "policy_changed" : kBytesUsedUp;
    note(what);
    co_return;
  }
  wire::BrokerHello hello;
  hello.flow = true;
  hello.sandbox_id = id_;
  hello.host = std::move(host);
  hello.port = meant.port;
  hello.first = std::move(first);
  hello.buffers = told(buffers);
  if (!os::send_message(fd->get(), wire::vault_frame(wire::encode(hello)), {guest.native_handle()})) {
    note(what);
    co_return;
  }
  Descriptor broker(house_.loop, fd->release());
  // Out of the loop's sight, or all that the broker reads would wake it.
  const HandedOver::One one{.host = what.host, .meant = meant, .guest = UniqueFd(guest.release()), .broker = broker.native_handle(), .by_policy = by_policy};
  const auto entered = handed_.enter(one);
  FrameReader reader;
  Decisions::Line line;
  for (;;) {
    const auto frame = co_await reader.next(broker);
    const auto word = frame ? wire::decode<wire::BrokerWord>(*frame) : std::nullopt;
    if (!word) co_return;
    // What went nowhere, and names no host, was a request to where it was connected.
    const std::string address = word->host.empty() && word->address.empty() ? meant.address.text() : word->address;
    if (word->opened) note({.host = word->host, .address = address, .port = word->port, .allowed = !word->refused, .reason = word->reason, .rule = word->rule, .kind = wire::DecidedKind::kRequest}, &line);
    if (word->sent > 0 || word->received > 0) decisions_.moved(line, word->sent, word->received);
    left_.sent.take(word->sent);
    left_.received.take(word->received);
    if (left_.is_used_up()) end_all();
    written_.set();
  }
}

}  // namespace cay::gate
