// LiveReader: a command's output from the keeper, pulled under credit. When the connection is lost
// and comes back it attaches again at the exact offsets it had delivered: no byte lost or repeated.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "async/event.h"
#include "core/ports/live_sandbox.h"
#include "runtime/keeper/channel.h"
#include "runtime/keeper/kept_output.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class LiveReader;

// OpenReaders: the readers of one sandbox's commands. When the sandbox ends, each of them goes on
// from what is kept.
class OpenReaders {
 public:
  explicit OpenReaders(asio::any_io_executor loop) : changed_(std::move(loop)) {}

  bool empty() const { return all_.empty(); }
  // The sandbox is about to be removed. Its keeper knows only stops: what it ends was ended by the
  // removal.
  void expect_removal() { removal_ = true; }
  bool removal() const { return removal_; }
  // The keeper has ended every command.
  void go_on_from(const KeptCommands& kept);
  // Until all have read to their command's end or have left; false: not within `limit`.
  asio::awaitable<bool> done(Millis limit);
  // As KeptOutput::let_go(), for each.
  void let_go();

 private:
  friend class LiveReader;
  void add(LiveReader* reader) { all_.insert(reader); }
  void remove(LiveReader* reader);

  std::set<LiveReader*> all_;
  bool removal_ = false;
  Event changed_;
};

class LiveReader final : public core::CommandReader {
 public:
  // Payload bytes that may be on the way or waiting here, for one reader.
  static constexpr std::uint64_t kWindow = 512 * 1024;

  // `readers`: those of its sandbox; null: it ends with its keeper.
  LiveReader(std::shared_ptr<PersistentLink> line, CommandId id, core::OutputOffsets from,
             std::shared_ptr<OpenReaders> readers = nullptr);
  ~LiveReader() override;

  // Sends the attach on `channel`. open() then waits for its answer.
  void request(std::unique_ptr<Channel> channel);
  // Attaches for the first time. Errors as LiveSandbox::attach. `known`: the answer to its start,
  // if it was just started.
  Task<void> open(Command known = {});

  const Command& command() const override { return command_; }
  Task<core::OutputEvent> next() override;
  void detach_with_next() override;

 private:
  friend class OpenReaders;
  Task<void> attach();
  Task<wire::Frame> next_frame();
  Task<core::OutputEvent> next_kept();
  core::OutputEvent ended(core::OutputEnd end);
  Result<std::optional<core::OutputEvent>> take(const wire::Frame& frame);
  Result<std::optional<core::OutputEvent>> take_data(const wire::Frame& frame);
  Result<std::optional<core::OutputEvent>> take_gap(const wire::Frame& frame);
  Error breach(const std::string& what);
  std::uint64_t& offset_of(std::uint8_t stream) {
    return stream == 1 ? offsets_.out : offsets_.err;
  }
  void leave();

  std::shared_ptr<PersistentLink> line_;
  std::shared_ptr<OpenReaders> readers_;
  CommandId id_;
  core::OutputOffsets offsets_;         // of the next byte to deliver
  std::unique_ptr<Channel> requested_;  // attaches, and is not answered yet
  std::unique_ptr<Channel> channel_;
  std::uint64_t owed_ = 0;  // delivered and not granted again yet
  Command command_;
  std::unique_ptr<KeptCommand> kept_;  // as it was kept when its keeper ended
  bool unended_ = false;               // its end is not on record
  std::unique_ptr<KeptOutput> rest_;
  bool ended_ = false;
};

}  // namespace cay::runtime
