// FrameSocket sends and receives whole frames over a blocking socket.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "wire/frame.h"

namespace cay::image {

class FrameSocket {
 public:
  explicit FrameSocket(UniqueFd socket) : socket_(std::move(socket)) {}

  // false: the peer is gone.
  bool send(std::uint16_t type, std::string payload);
  // nullopt: the peer is gone, or does not keep to the protocol.
  std::optional<wire::Frame> receive();
  bool has_ended() const;

 private:
  UniqueFd socket_;
  wire::FrameReader reader_;
};

}  // namespace cay::image
