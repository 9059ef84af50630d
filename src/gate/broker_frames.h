// Frames of wire/vault.h over a socket of this host, with a descriptor where one comes.
#pragma once
#include <string>

#include "async/task.h"
#include "base/unique_fd.h"
#include "gate/sockets.h"

namespace cay::gate {

class FrameReader {
 public:
  // The next one; kCancelled (peer_gone) at the end. `fd` takes a descriptor that came.
  Task<std::string> next(Descriptor& from, UniqueFd* fd = nullptr);

 private:
  std::string have_;
};

Task<void> send_frame(Descriptor& to, std::string message);

}  // namespace cay::gate
