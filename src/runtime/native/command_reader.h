// LiveReader: a command's output from the keeper, pulled under credit. When the connection is lost
// and comes back it attaches again at the exact offsets it had delivered: no byte lost or repeated.
#pragma once
#include <memory>

#include "core/ports/runtime.h"
#include "runtime/native/channel.h"
#include "runtime/native/persistent_link.h"

namespace cay::runtime {

class LiveReader final : public core::CommandReader {
 public:
  // Payload bytes that may be on the way or waiting here, for one reader.
  static constexpr std::uint64_t kWindow = 512 * 1024;

  LiveReader(std::shared_ptr<PersistentLink> line, CommandId id, core::OutputOffsets from);

  // Attaches for the first time. Errors as LiveSandbox::attach.
  Task<void> open();

  const Command& command() const override { return command_; }
  Task<core::OutputEvent> next() override;

 private:
  Task<void> attach();
  Task<wire::Frame> next_frame();
  Result<std::optional<core::OutputEvent>> take(const wire::Frame& frame);
  Result<std::optional<core::OutputEvent>> take_data(const wire::Frame& frame);
  Result<std::optional<core::OutputEvent>> take_gap(const wire::Frame& frame);
  Error breach(const std::string& what);
  std::uint64_t& offset_of(std::uint8_t stream) { return stream == 1 ? offsets_.out : offsets_.err; }

  std::shared_ptr<PersistentLink> line_;
  CommandId id_;
  core::OutputOffsets offsets_;  // of the next byte to deliver
  std::unique_ptr<Channel> channel_;
  std::uint64_t owed_ = 0;       // delivered and not granted again yet
  Command command_;
  bool ended_ = false;
};

}  // namespace cay::runtime
