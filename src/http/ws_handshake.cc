// The HTTP side of opening a WebSocket.
#include "http/ws_handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <array>

#include "base/assert.h"

namespace cay::http {

namespace {
std::string base64(const unsigned char* data, std::size_t size) {
  std::string out((size + 2) / 3 * 4 + 1, '\0');
  const int written = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), data, static_cast<int>(size));
  out.resize(static_cast<std::size_t>(written));
  return out;
}
}  // namespace

std::string accept_key(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return base64(digest.data(), digest.size());
}

bool is_websocket_key(std::string_view key) {
  if (key.size() != 24 || key.substr(22) != "==") return false;
  for (char c : key.substr(0, 22)) {
    const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!alnum && c != '+' && c != '/') return false;
  }
  return true;
}

std::string make_websocket_key() {
  std::array<unsigned char, 16> bytes{};
  CAY_ASSERT(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return base64(bytes.data(), bytes.size());
}

}  // namespace cay::http
