// The program record of a sandbox: SPOOL/.programs, an 8-byte head and then checked frames
// (wire/checked_frame.h) of one ProgramMsg each. The keeper appends, and readers page by byte
// offset. A frame that is short or does not match its sum ends the record.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/program_event.h"
#include "wire/tlv.h"

namespace cay::wire {

inline constexpr const char* kProgramFile = ".programs";  // no command's id begins with a dot
inline constexpr std::string_view kProgramHead{"cayprg\0\1", 8};
inline constexpr std::uint64_t kProgramFileLimit = std::uint64_t{64} << 20;
inline constexpr std::uint32_t kMaxProgramFrame = 64 * 1024;

enum class ProgramKind : std::uint8_t {
  kStart = 1,   // a process was made
  kExec = 2,    // it runs `path` with `args` from now on
  kEnd = 3,     // its last thread ended
  kLife = 4,    // the sandbox was started: nothing from before runs any more
  kLost = 5,    // `lost` records are missing here; 0: nobody knows how many, the keeper died
  kFull = 6,    // the record is at its limit: nothing follows
  kClosed = 7,  // the keeper ended by itself: all its events of this life are above. Not shown
};

struct ProgramMsg {
  std::uint8_t kind = 0;
  std::int64_t at_us = 0;       // microseconds since 1970
  std::uint32_t pid = 0;        // inside
  std::uint32_t parent = 0;     // inside; 0: outside
  std::int64_t started_us = 0;  // of the process: with pid its identity
  std::uint32_t uid = 0;        // inside
  std::string path;             // kExec: as in the call
  std::vector<std::string> args;
  bool path_cut = false;
  bool args_cut = false;       // longer than is kept
  bool args_unread = false;    // the kernel could not read them
  std::int64_t exit_code = 0;  // kEnd, without a signal
  std::int64_t signal = 0;
  bool core_dumped = false;
  bool oom = false;  // the kernel's out-of-memory killer chose it
  std::uint64_t lost = 0;
  bool closes = false;  // kLife: kClosed will mark its end
  template <class V>
  void fields(V& v) {
    v(1, kind);
    v(2, at_us);
    v(3, pid);
    v(4, parent);
    v(5, started_us);
    v(6, uid);
    v(7, path);
    v(8, args);
    v(9, path_cut);
    v(10, args_cut);
    v(11, args_unread);
    v(12, exit_code);
    v(13, signal);
    v(14, core_dumped);
    v(15, oom);
    v(16, lost);
    v(17, closes);
  }
};

// Converts an event of the kernel part, `size` bytes of it. `first_uid` is the host's number of the
// sandbox's root, and `epoch_us` the zero of CLOCK_BOOTTIME since 1970. nullopt: not an event.
std::optional<ProgramMsg> program_of(const cay_program_event& event, std::size_t size,
                                     std::uint32_t first_uid, std::int64_t epoch_us);

void append_program(std::string& out, const ProgramMsg& message);

struct ProgramsRead {
  std::vector<std::pair<std::uint64_t, ProgramMsg>> records;  // with their offsets in `bytes`
  std::size_t good = 0;                                       // bytes understood
  bool damaged = false;  // what follows them is no frame, though there is enough of it for one
};
// Frames from the beginning of `bytes`, at most `limit`.
ProgramsRead read_programs(std::string_view bytes, std::size_t limit);

}  // namespace cay::wire
