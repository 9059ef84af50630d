// The borders of the frames of a service's WebSocket are the same wherever the bytes are cut.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/gateway/socket_frames.h"
#include "base/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cay::api::SocketFrames;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto cut = data[0] * bytes.size() / 256;
  SocketFrames whole, parts;
  whole.follow(bytes);
  parts.follow(bytes.substr(0, cut));
  const std::string_view rest = bytes.substr(cut);
  const std::size_t end = parts.rest_of_frame(rest);
  CAY_ASSERT(end <= rest.size());
  if (parts.left() > 0 && parts.left() <= rest.size() && cut % 2 == 0) {
    const auto payload = static_cast<std::size_t>(parts.left());  // passed on unseen
    parts.skip(payload);
    CAY_ASSERT(parts.between());
    parts.follow(rest.substr(payload));
  } else {
    parts.follow(rest.substr(0, end));
    CAY_ASSERT(parts.between() || end == rest.size());
    parts.follow(rest.substr(end));
  }
  CAY_ASSERT(whole.between() == parts.between() && whole.left() == parts.left() &&
             whole.closed() == parts.closed());
  SocketFrames ours;
  ours.follow(cay::api::close_frame(1000 + data[0], bytes));
  CAY_ASSERT(ours.between() && ours.closed());
  return 0;
}
