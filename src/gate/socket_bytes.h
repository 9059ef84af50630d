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

enum class Heard : std::uint8_t { kSome, kEnd, kBroken };

// What there is now, at most `most` (and kAtOnce) bytes of it, behind what `kept` has. nullopt: there is nothing yet.
std::optional<Heard> take(Descriptor& from, std::string& kept, std::size_t most = kAtOnce);

// The same, once there is something.
asio::awaitable<Heard> hear(Descriptor& from, std::string& kept, std::size_t most = kAtOnce);

}  // namespace cay::gate
