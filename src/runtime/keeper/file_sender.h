// FileSender: the daemon's end of a write: DATA as the keeper's credit allows, then its last words.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/keeper/bulk.h"
#include "runtime/keeper/channel.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class FileSender {
 public:
  // `ahead`: so many bytes may be sent before the keeper gives credit.
  explicit FileSender(std::unique_ptr<Channel> channel, std::uint64_t ahead = 0)
      : channel_(std::move(channel)), allowed_(ahead) {}

  // Sends all of `bytes`, in frames of at most wire::kDataChunk, each when it is allowed. An error
  // of the keeper's ends it at once. `last`: finish() follows, and the last of them goes with it.
  Task<void> send(std::uint64_t offset, Bytes bytes, bool last = false);
  // Whether send_piped() may be used: the content goes over a socket of its own from here on. True
  // only once enough of it was sent to be worth that.
  Task<bool> piped(const PersistentLink& line);
  Task<void> send_piped(KernelPipe pipe);
  // Between the data of a tree or a layer: the entry that follows, of at most wire::kDataChunk.
  Task<void> announce(wire::Type type, std::string entry);
  // Sends the end, and returns the first frame that is not credit.
  Task<wire::Frame> finish();

  Channel& channel() { return *channel_; }

 private:
  Result<void> take_credit(const wire::Frame& frame);
  Result<void> take_what_came();
  Task<wire::Frame> next_word();
  // Why the helper took no more of it.
  Task<void> refused();

  std::unique_ptr<Channel> channel_;
  std::uint64_t allowed_;
  std::uint64_t sent_ = 0;
  std::unique_ptr<Bulk> bulk_;
};

}  // namespace cay::runtime
