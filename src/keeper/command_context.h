// CommandContext: the parts of the keeper that a command works with. It outlives every command.
#pragma once
#include "keeper/keeper.h"
#include "keeper/loop.h"
#include "keeper/notes.h"
#include "keeper/oom_victims.h"
#include "keeper/outbox.h"
#include "keeper/reaper.h"
#include "keeper/slots.h"
#include "keeper/spawner.h"
#include "keeper/spare_directory.h"
#include "keeper/spool_budget.h"
#include "keeper/stdin_pipe.h"

namespace cay::keeper {

struct CommandContext {
  const Context& context;
  Loop& loop;
  Outbox& outbox;
  Reaper& reaper;
  Slots& slots;
  Spawner& spawner;
  StdinBudget& stdin_budget;
  SpoolBudget& spool_budget;
  SpareDirectory& spare_directory;
  Notes& notes;
  const OomVictims& oom_victims;
};

}  // namespace cay::keeper
