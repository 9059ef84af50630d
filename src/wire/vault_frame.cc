#include "wire/vault_frame.h"

#include <cstddef>

#include "wire/vault.h"

namespace cay::wire {
namespace {

constexpr std::size_t kLength = 4;

}  // namespace

std::string vault_frame(std::string_view message) {
  std::string out;
  out.reserve(kLength + message.size());
  for (std::size_t i = 0; i < kLength; ++i)
    out.push_back(static_cast<char>(message.size() >> (8 * i)));
  out += message;
  return out;
}

Result<std::optional<std::string>> take_vault_frame(std::string& have) {
  if (have.size() < kLength) return std::optional<std::string>();
  std::size_t size = 0;
  for (std::size_t i = kLength; i-- > 0;) size = size << 8 | static_cast<unsigned char>(have[i]);
  if (size > kMostVaultFrame)
    return Error{Code::kInvalidArgument, "frame_too_large", "a frame is too large", 0};
  if (have.size() < kLength + size) return std::optional<std::string>();
  std::optional<std::string> out = have.substr(kLength, size);
  have.erase(0, kLength + size);
  return out;
}

}  // namespace cay::wire
