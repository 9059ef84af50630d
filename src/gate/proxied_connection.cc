#include "gate/proxied_connection.h"

#include <sys/socket.h>

#include <boost/system/system_error.hpp>

namespace cay::gate {
namespace {

constexpr std::size_t kMostKept = 64 * 1024;

FirstAnswer read_answer(Proof to, std::string_view said) {
  switch (to) {
    case Proof::kNone: return FirstAnswer::kOther;
    case Proof::kHttp: return read_http_answer(said);
    case Proof::kTls: return read_server_hello(said);
  }
  return FirstAnswer::kOther;
}

ByteQuota& left_of(ProxiedConnection& connection, Way way) {
  return way == Way::kOut ? connection.quotas.sent : connection.quotas.received;
}

// Passes on the server's bytes until they are a whole answer. Returns false if either side broke.
asio::awaitable<bool> listen(ProxiedConnection& connection) {
  std::string said, part = std::move(connection.early);
  for (;;) {
    if (!part.empty()) {
      said += part;
      const std::size_t size = part.size();
      const FirstAnswer answer = said.size() > 2 * kMostFirstAnswer
                                     ? FirstAnswer::kOther
                                     : read_answer(*connection.expected, said);
      if (!may_pass(connection, Way::kBack, size)) co_return false;
      const bool gone = co_await send_all(connection.client, std::move(part));
      if (!gone) co_return false;
      connection.record.received += size;
      part.clear();
      if (answer != FirstAnswer::kMore) {
        connection.answer = answer;
        break;
      }
    }
    const auto heard = take(connection.server, part);
    if (heard == Received::kBroken) co_return false;
    if (heard == Received::kEnd) {
      connection.answer = FirstAnswer::kOther;
      break;
    }
    if (!heard) {
      co_await readable(connection.server);
    }
  }
  connection.answered.set();
  if (connection.client_waits) connection.client.cancel();
  co_return true;
}

}  // namespace

asio::awaitable<Received> wait_for_answer(ProxiedConnection& connection, std::string& kept) {
  bool ended = false;
  while (!connection.answer) {
    if (connection.broken) co_return Received::kBroken;
    if (ended || kept.size() >= kMostKept) {
      co_await connection.answered.wait();
      continue;
    }
    const auto heard = take(connection.client, kept, kMostKept - kept.size());
    ended = heard == Received::kEnd;
    if (heard == Received::kBroken || (ended && kept.empty())) co_return *heard;
    if (heard) continue;
    connection.client_waits = true;
    try {
      co_await readable(connection.client);
    } catch (const boost::system::system_error&) {
      if (!connection.answer || connection.broken) throw;
    }
    connection.client_waits = false;
  }
  co_return Received::kSome;
}

asio::awaitable<void> one_way(std::shared_ptr<ProxiedConnection> connection, Way way,
                              PipePool& pipes, Buffers buffers) {
  Descriptor& from = way == Way::kOut ? connection->client : connection->server;
  Descriptor& to = way == Way::kOut ? connection->server : connection->client;
  auto end = PumpEnd::kBroken;
  try {
    bool goes_on = true;
    // The client's first bytes go before: few servers speak first.
    if (way == Way::kBack) {
      co_await give_way();
    }
    if (way == Way::kBack && connection->expected) {
      goes_on = co_await listen(*connection);
    } else if (way == Way::kBack && !connection->early.empty()) {
      const std::size_t size = connection->early.size();
      goes_on = may_pass(*connection, way, size);
      if (goes_on) {
        goes_on = co_await send_all(to, std::move(connection->early));
      }
      if (goes_on) connection->record.received += size;
    }
    if (goes_on) {
      end = co_await pump(from, to, pipes, buffers, left_of(*connection, way),
                          way == Way::kOut ? connection->record.sent : connection->record.received);
    }
  } catch (const boost::system::system_error&) {
    if (!connection->broken) throw;
  }
  if (end == PumpEnd::kUsedUp && connection->quotas.when_used_up) connection->quotas.when_used_up();
  if (way == Way::kBack) connection->server_done.set();
  if (end == PumpEnd::kFinished || connection->broken) co_return;
  connection->starved = end == PumpEnd::kStarved;
  break_off(*connection);
}

bool may_pass(ProxiedConnection& connection, Way way, std::size_t bytes) {
  ByteQuota& left = left_of(connection, way);
  const bool may = left.has(bytes);
  left.take(bytes);
  if (!may && connection.quotas.when_used_up) connection.quotas.when_used_up();
  return may;
}

void break_off(ProxiedConnection& connection) {
  connection.broken = true;
  connection.answered.set();
  connection.client.cancel();
  connection.server.cancel();
}

void cut(ProxiedConnection& connection) {
  for (Descriptor* one : {&connection.client, &connection.server}) gate::cut(one->native_handle());
  break_off(connection);
}

}  // namespace cay::gate
