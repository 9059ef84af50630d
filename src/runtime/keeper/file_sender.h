// FileSender: the daemon's end of a write: DATA as the keeper's credit allows, then its last words.
#pragma once
#include <memory>
#include <string>

#include "runtime/keeper/channel.h"

namespace cay::runtime {

class FileSender {
 public:
  explicit FileSender(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  // Sends all of `bytes`, in frames of at most wire::kDataChunk, each when it is allowed. An error
  // of the keeper's ends it at once.
  Task<void> send(std::uint64_t offset, Bytes bytes);
  // Between the data of a tree or a layer: the entry that follows, of at most wire::kDataChunk.
  Task<void> announce(wire::Type type, std::string entry);
  // Sends the end, and returns the first frame that is not credit.
  Task<wire::Frame> finish();

  Channel& channel() { return *channel_; }

 private:
  Result<void> take_credit(const wire::Frame& frame);
  Result<void> take_what_came();

  std::unique_ptr<Channel> channel_;
  std::uint64_t allowed_ = 0;
};

}  // namespace cay::runtime
