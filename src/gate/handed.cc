// Connections that are the broker's: handed over, and told of by what it says.
#include <sys/socket.h>

#include <cerrno>

#include "gate/door.h"
#include "gate/handover.h"
#include "os/unix_socket.h"

namespace cay::gate {
namespace {

Task<wire::BrokerWord> next_word(Descriptor& broker, std::string& have) {
  for (;;) {
    CAY_CO_TRY(const auto frame, take_frame(have));
    if (frame) {
      const auto word = wire::decode<wire::BrokerWord>(*frame);
      if (!word) co_return Error{Code::kUnavailable, "vault_unavailable", "the broker says what cannot be read", 0};
      co_return *word;
    }
    char piece[4096];
    const ssize_t got = ::recv(broker.native_handle(), piece, sizeof piece, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      co_await readable(broker);
      continue;
    }
    if (got <= 0) co_return Error{Code::kCancelled, "peer_gone", "the broker has ended it", 0};
    have.append(piece, static_cast<std::size_t>(got));
  }
}

}  // namespace

// From here on the guest's socket is the broker's: whatever becomes of us, it ends it.
asio::awaitable<void> Door::hand_over(Descriptor guest, Endpoint meant, std::string host, std::string first) {
  Decisions::What what{.host = host, .address = meant.address.text(), .port = meant.port, .allowed = true, .reason = "vault_unavailable"};
  auto fd = house_.handover->dial();
  if (!fd) {
    note(what);
    co_return;
  }
  wire::BrokerHello hello;
  hello.flow = true;
  hello.sandbox_id = id_;
  hello.host = std::move(host);
  hello.port = meant.port;
  hello.first = std::move(first);
  if (!os::send_message(fd->get(), framed(wire::encode(hello)), {guest.native_handle()})) {
    note(what);
    co_return;
  }
  guest.close();
  Descriptor broker(house_.loop, fd->release());
  std::string have;
  Decisions::Line line;
  for (;;) {
    const auto word = co_await next_word(broker, have);
    if (!word) co_return;
    if (word->opened) note({.host = word->host, .address = word->address, .port = word->port, .allowed = !word->refused, .reason = word->reason}, &line);
    if (word->sent > 0 || word->received > 0) decisions_.moved(line, word->sent, word->received);
    written_.set();
  }
}

}  // namespace cay::gate
