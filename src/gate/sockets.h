// Sockets of the gate: descriptors with waits, dialling outside, where a redirected connection was meant to go.
#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <optional>

#include "async/task.h"
#include "base/clock.h"
#include "base/ip_address.h"
#include "base/unique_fd.h"
#include "gate/socket_memory.h"

namespace cay::gate {

using Descriptor = asio::posix::stream_descriptor;

struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
};

asio::awaitable<void> readable(Descriptor& at);
asio::awaitable<void> writable(Descriptor& at);

// Lets the others on the loop have their turn: a guest that always has more to say must not keep it.
asio::awaitable<void> give_way();
inline constexpr int kMostInARow = 16;

// Where the client wanted to go before the sandbox's rules redirected it; nullopt: it was not redirected.
std::optional<Endpoint> original_destination(int socket_fd);

// A connection outside. Fails with the kernel's errno; kDeadlineExceeded after `limit`.
Task<UniqueFd> dial(asio::any_io_executor loop, Endpoint to, BufferSizes buffers, Millis limit);

// Whether closing the socket (by us, or by the kernel when we are killed) is a reset: a peer must never take an end that
// is an accident for a proper one.
enum class OnClose { kReset, kFinish };
void on_close(int socket_fd, OnClose what);

// Now, whatever it is doing and whoever else has it open (a disconnect of TCP): the peer sees a reset, and what the socket still held is gone.
void cut(int socket_fd);

// Until the other side has all that was sent, and the end of it (or the connection broke): what a closed socket still holds would
// be counted for nobody.
asio::awaitable<void> delivered(int socket_fd);

// No delay, and probes that find peers that are gone. What is accepted from a listener has what the listener has.
void tune(int socket_fd);

}  // namespace cay::gate
