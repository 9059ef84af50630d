#include "wire/checked_frame.h"

namespace cay::wire {
namespace {

std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

std::uint64_t take(std::string_view in, int bytes) {
  std::uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i)
    value = (value << 8) | static_cast<unsigned char>(in[static_cast<std::size_t>(i)]);
  return value;
}

}  // namespace

void append_checked(std::string& out, std::string_view payload) {
  put(out, payload.size(), 4);
  put(out, fnv1a(payload), 8);
  out += payload;
}

std::optional<std::uint32_t> checked_length(std::string_view file) {
  if (file.size() < kCheckedHead) return std::nullopt;
  return static_cast<std::uint32_t>(take(file, 4));
}

std::optional<std::string_view> first_checked(std::string_view file) {
  const auto length = checked_length(file);
  if (!length || *length > file.size() - kCheckedHead) return std::nullopt;
  const std::string_view payload = file.substr(kCheckedHead, *length);
  if (fnv1a(payload) != take(file.substr(4), 8)) return std::nullopt;
  return payload;
}

}  // namespace cay::wire
