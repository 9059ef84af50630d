// Proofs by a shared key, for transports that do not carry the peer's user id (TCP). Daemon and
// keeper hold the key of one sandbox. Each proves it by an HMAC-SHA256 over both HELLOs, which hold
// a fresh nonce each. So a recorded proof is worth nothing on another connection.
//
// Both sides send their HELLO at once. The daemon sends its proof when the keeper's HELLO has come.
// The keeper answers a right proof with its own, and closes the connection at a wrong one.
//
// The client's half, on each new connection:
//   1. Set Hello::nonce to kHelloNonce bytes of os::random_bytes(), and send the HELLO.
//   2. On the keeper's HELLO, send prove_hello(key, Prover::kDaemon, both) as Type::kProof on
//      channel 0.
//   3. Wait for the keeper's kProof on channel 0. Close the connection unless
//      is_proved(key, Prover::kKeeper, both, mac) holds.
//   4. Send requests only then: they hold the environment of commands, and may hold secrets.
//
// A proof covers the beginning of a connection. It neither encrypts nor seals the bytes that
// follow, so the path itself must be private (docs/decisions/0043-hello-over-tcp.md).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cay::wire {

inline constexpr std::size_t kHelloNonce = 32;  // bytes
inline constexpr std::size_t kHelloKey = 32;    // bytes, at least; random ones

enum class Prover { kDaemon, kKeeper };

// The payloads of the two HELLO frames, byte by byte as they were sent.
struct Hellos {
  std::string_view keeper, daemon;
};

// Returns the 32 bytes of Proof::mac.
std::string prove_hello(std::string_view key, Prover by, const Hellos& both);

// Whether `mac` is the proof. False if the key is shorter than kHelloKey, or a HELLO cannot be
// decoded or has no nonce of kHelloNonce bytes. The time taken does not depend on the content.
bool is_proved(std::string_view key, Prover by, const Hellos& both, std::string_view mac);

}  // namespace cay::wire
