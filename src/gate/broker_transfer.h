// Hands a connection over to the broker, and records what the broker reports of it.
#pragma once
#include <string>

#include "async/task.h"
#include "gate/egress_state.h"
#include "gate/sockets.h"

namespace cay::gate {

// Returns once the broker has let go of the connection. The broker has the client's socket from
// then on; the gate keeps a copy only to end it when the policy changes. `host` is empty at the
// broker's own address.
asio::awaitable<void> hand_over(EgressState& state, Descriptor client, Endpoint meant,
                                std::string host, std::string first, Buffers buffers);

}  // namespace cay::gate
