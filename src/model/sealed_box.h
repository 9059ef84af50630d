// SealedBox: bytes that anybody with a public key can close and only the owner of the private key
// can open: X25519 with a key of one use, HKDF-SHA256, AES-256-GCM. A client closes a secret's
// value before it goes to the daemon, which passes it on unread.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/wiped_memory.h"

namespace cay {

inline constexpr std::size_t kBoxKeyBytes = 32;

struct BoxKeys {
  Wiped private_key;
  std::string public_key;
};
Result<BoxKeys> new_box_keys();
Result<std::string> box_public_key(std::string_view private_key);

// One-time public key (32 bytes), ciphertext, tag (16). `about` must be the same when it is opened.
Result<std::string> close_box(std::string_view public_key, std::string_view about,
                              std::string_view plain);
// kInvalidArgument (bad_envelope): it was not closed for this key, or about something else.
Result<Wiped> open_box(std::string_view private_key, std::string_view about, std::string_view box);

// AES-256-GCM: a fresh nonce (12 bytes), ciphertext, tag (16).
Result<std::string> encrypt(std::string_view key, std::string_view about, std::string_view plain);
// kInvalidArgument (bad_envelope).
Result<Wiped> decrypt(std::string_view key, std::string_view about, std::string_view sealed);

std::string random_bytes(std::size_t count);

}  // namespace cay
