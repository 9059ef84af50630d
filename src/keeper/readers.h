// Readers: the attaches of the daemon's connection. Each is served from the tape under its own
// credit, in turns of one chunk, so that a slow one slows only itself.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "keeper/command.h"
#include "keeper/loop.h"
#include "keeper/outbox.h"
#include "keeper/tape.h"
#include "wire/messages.h"

namespace cay::keeper {

class Readers {
 public:
  Readers(Loop& loop, Outbox& outbox) : loop_(loop), outbox_(outbox) {}

  // An attach that waits for its command's start.
  void announce(ReplyTo to) { announced_.insert(to); }
  // Ends the wait of announce(). false: the attach was cancelled meanwhile, or its connection is
  // gone.
  bool has_come(ReplyTo to) { return announced_.erase(to) > 0; }
  // Answers kCommand (`known` as given in it), then output and kEnd; or kError. `live`: the command
  // if it did not settle yet, else nullptr.
  void attach(ReplyTo to, const wire::Attach& request, std::shared_ptr<Tape> tape, Command* live);
  bool has(std::uint32_t channel) const { return readers_.contains(channel); }
  void credit(std::uint32_t channel, std::uint64_t bytes);
  void cancel(ReplyTo to);
  // The daemon's connection is gone.
  void orphan_all();

  void on_output(Command& command);
  void on_ended(Command& command);
  // `command` goes away; its tape lives on with its readers.
  void on_settled(Command& command);
  // The connection takes more again.
  void pump();

 private:
  struct Reader {
    ReplyTo to;
    std::shared_ptr<Tape> tape;
    Command* live = nullptr;
    std::uint64_t offset[2] = {0, 0};
    std::uint64_t target[2] = {0, 0};  // where it ends, once `ended`
    bool ended = false;
    std::uint64_t credit = 0;
    bool queued = false;
    std::uint8_t turn = 0;
  };

  void set_targets(Reader& reader, bool at_attach);
  void wake(Reader& reader);
  void schedule();
  // One step; true when there may be more to do now.
  bool serve(Reader& reader);
  bool serve_stream(Reader& reader, unsigned index);
  void remove(std::uint32_t channel, bool orphaned);

  Loop& loop_;
  Outbox& outbox_;
  std::set<ReplyTo> announced_;
  std::map<std::uint32_t, std::unique_ptr<Reader>> readers_;
  std::map<const Command*, std::vector<Reader*>> of_;
  std::deque<std::uint32_t> queue_;
  bool scheduled_ = false;
};

}  // namespace cay::keeper
