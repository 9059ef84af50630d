#include "gate/broker_transfer.h"

#include <optional>
#include <utility>

#include "async/deadline.h"
#include "gate/broker_frames.h"
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

asio::awaitable<void> hand_over(EgressState& state, Descriptor client, Endpoint meant,
                                std::string host, std::string first, Buffers buffers) {
  // Under a wildcard the broker would resolve any name.
  if (!host.empty() && !state.journal.may_look_up(host)) co_return;
  Decisions::What what{.host = host,
                       .address = meant.address.text(),
                       .port = meant.port,
                       .allowed = true,
                       .reason = "vault_unavailable"};
  auto fd = co_await reach_broker(*state.context.handover);
  if (!fd) {
    state.journal.note(what);
    co_return;
  }
  const bool by_policy =
      !host.empty() && !state.context.handover->takes(state.id, host, meant.port);
  const bool changed = !state.policy.opens_proxy_hosts() ||
                       (by_policy && !state.policy.allows_fenced_host(host, meant.port));
  if (changed || state.journal.quotas().is_used_up()) {  // meanwhile
    what.allowed = false;
    what.reason = changed ? "policy_changed" : kBytesUsedUp;
    state.journal.note(what);
    co_return;
  }
  wire::BrokerHello hello;
  hello.flow = true;
  hello.sandbox_id = state.id;
  hello.host = std::move(host);
  hello.port = meant.port;
  hello.first = std::move(first);
  hello.buffers = told(buffers);
  if (!os::send_message(fd->get(), wire::vault_frame(wire::encode(hello)),
                        {client.native_handle()})) {
    state.journal.note(what);
    co_return;
  }
  Descriptor broker(state.context.loop, fd->release());
  // Off the loop, or everything that the broker reads would wake it.
  const HandedOver::One one{.host = what.host,
                            .meant = meant,
                            .guest = UniqueFd(client.release()),
                            .broker = broker.native_handle(),
                            .by_policy = by_policy};
  const auto entered = state.journal.handed_over().enter(one);
  FrameReader reader;
  Decisions::Line line;
  for (;;) {
    const auto frame = co_await reader.next(broker);
    const auto word = frame ? wire::decode<wire::BrokerWord>(*frame) : std::nullopt;
    if (!word) co_return;
    // A request that went nowhere and names no host was one to the connection's own address.
    const std::string address =
        word->host.empty() && word->address.empty() ? meant.address.text() : word->address;
    if (word->opened)
      state.journal.note({.host = word->host,
                          .address = address,
                          .port = word->port,
                          .allowed = !word->refused,
                          .reason = word->reason,
                          .rule = word->rule,
                          .kind = wire::DecidedKind::kRequest},
                         &line);
    state.journal.note_moved(line, word->sent, word->received);
    state.journal.quotas().sent.take(word->sent);
    state.journal.quotas().received.take(word->received);
    if (state.journal.quotas().is_used_up()) state.journal.end_all();
  }
}

}  // namespace cay::gate
