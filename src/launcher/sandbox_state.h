// SandboxState holds the launcher's data about one sandbox, from its creation to the end of its
// removal.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/birth.h"
#include "launcher/disk_maker.h"
#include "launcher/groundwork.h"
#include "launcher/outbox.h"
#include "launcher/record.h"
#include "launcher/slots.h"
#include "wire/messages.h"

namespace cay::launcher {

struct SandboxState {
  using Clock = std::chrono::steady_clock;
  enum class Phase : std::uint8_t { kStarting, kAlive, kEnding, kStopped };
  enum class Keep : std::uint8_t { kDisk, kNothing };

  std::string id;
  Phase phase = Phase::kStopped;
  Record record;
  bool has_record = false;   // a stopped sandbox comes back to this
  std::optional<Slot> slot;  // empty for one that an earlier worker made: its keeper holds it
  UniqueFd pidfd;
  pid_t child = 0;                   // the keeper, while it is ours to reap
  std::optional<DiskMaker> maker;    // before the birth, where the disk is a copy
  std::optional<Groundwork> ground;  // before the birth, if one was made ahead
  bool fresh_disk = false;           // this is its first boot
  std::optional<wire::CreateSandbox> wanted;
  std::optional<Birth> birth;
  std::optional<ReplyTo> creator;
  Clock::time_point deadline;  // of the birth; in kEnding: of the next try
  // kEnding
  Keep keep = Keep::kDisk;
  std::optional<Error> failed;  // why the creator gets nothing
  std::vector<ReplyTo> enders;
  int tries = 0;
  Clock::time_point speak_at;  // when the caller and the log get the reason why it is not over
  UniqueFd init;               // its PID 1, while it ends; empty if it is not known
  UniqueFd remover;            // a child that removes big trees
  pid_t remover_pid = 0;
};

using SandboxStates = std::map<std::string, std::unique_ptr<SandboxState>>;  // by id

}  // namespace cay::launcher
