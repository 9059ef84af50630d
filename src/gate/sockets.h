// Sockets of the gate: descriptors with waits, dialling outside, where a redirected connection was
// meant to go.
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

// Lets the other coroutines run: a client that always sends more must not keep the loop.
asio::awaitable<void> give_way();
inline constexpr int kMostInARow = 16;

// Returns the destination before the sandbox's rules redirected the connection, or nullopt if they
// did not.
std::optional<Endpoint> original_destination(int socket_fd);

// A connection outside. Fails with the kernel's errno; kDeadlineExceeded after `limit`.
Task<UniqueFd> dial(asio::any_io_executor loop, Endpoint to, BufferSizes buffers, Millis limit);

// Whether closing the socket is a reset, by the gate or by the kernel when the gate is killed. A
// peer must never take an accidental end for a proper one.
enum class OnClose { kReset, kFinish };
void on_close(int socket_fd, OnClose what);

// Resets the connection at once, whoever else has the socket open (a disconnect of TCP). The bytes
// that the socket still held are gone.
void cut(int socket_fd);

// Waits until the other side has all that was sent and the end of it, or the connection broke. The
// memory of a closed socket would be counted for nobody.
asio::awaitable<void> delivered(int socket_fd);

// Sets no delay, and probes that find dead peers. An accepted socket inherits both from its
// listener.
void tune(int socket_fd);

}  // namespace cay::gate
