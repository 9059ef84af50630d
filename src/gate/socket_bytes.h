// Bytes of a socket, read and written as they come.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gate/sockets.h"

namespace cay::gate {

inline constexpr std::size_t kAtOnce = 16 * 1024;

// Whether all of them went.
asio::awaitable<bool> send_all(Descriptor& to, std::string bytes);

enum class Received : std::uint8_t { kSome, kEnd, kBroken };

// Appends the available bytes to `kept`, at most `most` (and kAtOnce). Returns nullopt if there are
// none yet.
std::optional<Received> take(Descriptor& from, std::string& kept, std::size_t most = kAtOnce);

// The same, once there is something.
asio::awaitable<Received> receive(Descriptor& from, std::string& kept, std::size_t most = kAtOnce);

}  // namespace cay::gate
