// The program record lists which programs ran in a sandbox, as the kernel saw it
// (docs/decisions/0012-program-record.md).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cay {

enum class ProgramKind : std::uint8_t {
  kStart = 1,  // a process was made
  kExec = 2,   // it runs `path` with `args` from now on
  kEnd = 3,    // its last thread ended
  kLife = 4,   // the sandbox was started: nothing from before runs any more
  kLost = 5,   // `lost` records are missing here; 0: nobody knows how many, the keeper died
  kFull = 6,   // the record is at its limit: nothing follows
};

struct ProgramEvent {
  std::uint64_t offset = 0;  // in the record
  ProgramKind kind = ProgramKind::kStart;
  std::int64_t at_us = 0;       // microseconds since 1970
  std::uint32_t pid = 0;        // inside
  std::uint32_t parent = 0;     // inside; 0: Cay itself started it
  std::int64_t started_us = 0;  // with pid the process's identity
  std::uint32_t uid = 0;        // inside
  std::string path;
  std::vector<std::string> args;
  bool path_cut = false, args_cut = false;  // longer than is kept
  bool args_unread = false;                 // the kernel could not read them
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;  // 0: it exited
  bool core_dumped = false;
  bool oom_killed = false;  // the kernel's out-of-memory killer chose it
  std::uint64_t lost = 0;
};

struct ProgramPage {
  std::vector<ProgramEvent> items;
  std::uint64_t next_offset = 0;  // where the next page begins, now or later
};

}  // namespace cay
