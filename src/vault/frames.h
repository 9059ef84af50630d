// Frames of wire/vault.h over a socket of this host, with a descriptor where one comes.
#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "base/unique_fd.h"
#include "gate/handover.h"

namespace cay::vault {

using Descriptor = asio::posix::stream_descriptor;

using gate::framed;

class FrameReader {
 public:
  // The next one; kCancelled (peer_gone) at the end. `fd` takes a descriptor that came.
  Task<std::string> next(Descriptor& from, UniqueFd* fd = nullptr);

 private:
  std::string have_;
};

Task<void> send_frame(Descriptor& to, std::string message);

}  // namespace cay::vault
