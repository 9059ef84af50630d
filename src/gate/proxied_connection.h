// ProxiedConnection: a client's connection and the one to its server, and how bytes move between
// them.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "gate/connection_record.h"
#include "gate/first_answer.h"
#include "gate/first_bytes.h"
#include "gate/pump.h"
#include "gate/socket_bytes.h"

namespace cay::gate {

// Its two directions share it: a cancelled one may end after the other.
struct ProxiedConnection {
  // `quotas_of_sandbox` outlives the connection.
  ProxiedConnection(asio::any_io_executor loop, Descriptor inside, Descriptor outwards,
                    ByteQuotas& quotas_of_sandbox)
      : client(std::move(inside)),
        server(std::move(outwards)),
        quotas(quotas_of_sandbox),
        answered(loop),
        server_done(std::move(loop)) {}

  Descriptor client, server;
  ByteQuotas& quotas;
  ConnectionRecord record;
  bool broken = false;
  bool starved = false;  // broken by this process, which had no pipe

  // Set while the client's next bytes wait for the server's first answer: the protocol of that
  // answer, or kNone while it is unknown.
  std::optional<Proof> expected{};
  std::optional<FirstAnswer> answer{};
  Event answered;
  bool client_waits = false;  // the answer wakes the client's direction

  std::string early{};             // the server's bytes that were read while it was dialled
  Event server_done;               // the server has ended or broke
  bool client_sends_more = false;  // behind the connection's last request
};

enum class Way { kOut, kBack };

// Moves one direction until that side ends, and passes the end on. If a direction breaks, it wakes
// the other, which ends too.
asio::awaitable<void> one_way(std::shared_ptr<ProxiedConnection> connection, Way way,
                              PipePool& pipes, Buffers buffers);

// Takes bytes that one_way() did not read out of the quota. Returns false if the quota does not
// cover all of them: then every connection of the sandbox ends.
bool may_pass(ProxiedConnection& connection, Way way, std::size_t bytes);

// Wakes both directions, which end.
void break_off(ProxiedConnection& connection);
// The same, and resets both sockets at once with what they still hold.
void cut(ProxiedConnection& connection);

// Waits for the server's first answer and keeps what the client sends meanwhile, as far as there is
// room. Returns kSome after the answer, and kEnd if the client ended first and had sent nothing.
asio::awaitable<Received> wait_for_answer(ProxiedConnection& connection, std::string& kept);

}  // namespace cay::gate
