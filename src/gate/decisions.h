// Decisions records what one sandbox tried to reach and how each attempt ended. It counts attempts
// by kind in memory and in DATA/gate/ID.net, and lists them one by one in the sandbox's log
// (decision_log.h). Both are bounded, and the oldest make room. The oldest kind without
// bytes goes first while at least half of all kinds have none. Otherwise the oldest with bytes
// goes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/ip_address.h"
#include "base/result.h"
#include "gate/decision_log.h"
#include "wire/messages.h"

namespace cay::gate {

class Decisions {
 public:
  static constexpr std::size_t kMost = 256;

  // Goes on with what an earlier gate wrote, if it can be read.
  Decisions(int directory, const std::string& sandbox_id, std::string policy,
            std::string rules = {});
  // Sets the policy that the file names from now on.
  void go_by(std::string policy, std::string rules);

  struct What {
    std::string host;
    std::string address;
    std::uint16_t port = 0;
    bool allowed = false;
    std::string reason;
    std::string rule{};
    wire::DecidedKind kind = wire::DecidedKind::kConnection;  // with port 0 of a host: a lookup
  };
  // Names the line, for bytes that move later.
  using Line = std::string;
  Line note(const What& what, UnixMillis now);
  // A lookup that gave an address, which has no line: what connects to it has.
  void note_found(const What& what, UnixMillis now);
  // A connection that is held for an answer. It has a line once that is decided.
  void note_asked(const What& what, UnixMillis now);
  void moved(const Line& line, std::uint64_t sent, std::uint64_t received);
  // All bytes that its connections have moved since it was made, also those of lines that made
  // room. It includes what killed gates may have moved without a record.
  std::uint64_t sent() const { return sent_.counted + sent_.uncounted; }
  std::uint64_t received() const { return received_.counted + received_.uncounted; }
  // Records at once that up to so many bytes may be gone. close() returns the part that did not
  // move.
  void set_aside_sent(std::uint64_t up_to) { set_aside(sent_, up_to); }
  void set_aside_received(std::uint64_t up_to) { set_aside(received_, up_to); }

  bool dirty() const {
    return dirty_ || log_.dirty();
  }  // since the last write; at first if the file names another policy
  // Nothing of a sandbox that is gone: its files are not made again.
  Result<void> write();
  // Nothing more comes: writes what is left.
  void close();

 private:
  bool keeper_is_there() const;
  void make_room();
  Result<void> write_lines();
  // Bytes in one direction. `uncounted` may have moved while no gate counted. Connections may go on
  // to the total `aside` before the next write.
  struct Bytes {
    std::uint64_t counted = 0, uncounted = 0, aside = 0;
    std::uint64_t up_to() const { return std::max(counted + uncounted, aside); }
  };
  void set_aside(Bytes& of, std::uint64_t up_to);

  int directory_;
  std::string file_, keeper_;
  std::string policy_, rules_;
  std::list<wire::DecisionMsg> items_;  // the latest last
  std::map<Line, std::list<wire::DecisionMsg>::iterator> by_line_;
  std::uint64_t forgotten_ = 0;
  Bytes sent_, received_;
  bool dirty_ = false;
  bool written_ = false;
  DecisionLog log_;
};

}  // namespace cay::gate
