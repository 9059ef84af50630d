// Notes: the start and the end of each command, kept until the daemon has them on record (kNote,
// kNoted in wire/messages.h). A daemon that was killed meanwhile gets them again, and recognises
// them by their numbers.
#pragma once
#include <cstdint>
#include <deque>
#include <string>

#include "keeper/outbox.h"
#include "wire/messages.h"

namespace cay::keeper {

class Notes {
 public:
  // Beyond it (the daemon cannot write) the oldest go. The daemon reports that itself: it holds no
  // more of them either.
  static constexpr std::size_t kMostKept = 10'000;

  explicit Notes(Outbox& outbox);

  // `command` started, or ended, just now. Sent before whatever is answered next.
  void add(const wire::CommandMsg& command);
  // A daemon is there. One that takes no notes gets ENDED, and none is kept for it.
  void daemon_came(bool takes_notes);
  void daemon_left();
  // All up to that number are on record.
  void noted(const wire::Noted& noted);
  // Sends what was not sent on this connection, as far as there is room; `all`: in any case.
  void pump(bool all = false);

 private:
  struct Note {
    std::uint64_t number = 0;
    std::string payload;
  };

  Outbox& outbox_;
  std::uint64_t life_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t sent_ = 0;  // on this connection, up to here
  bool here_ = false;
  bool taken_ = true;  // as the present daemon, or the last one, declared
  std::deque<Note> kept_;
};

}  // namespace cay::keeper
