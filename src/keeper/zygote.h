// Zygote: a process of the keeper that entered the sandbox ahead, and makes the child of each
// command from there. So a start copies no memory of the keeper's, enters no namespace, and finds
// done what all commands have in common (confine.h).
//
// It joined the sandbox's namespaces, but for that of pids: nothing inside can see, signal or trace
// it. Its children are the keeper's own (CLONE_PARENT), in the group of their command from birth,
// and share its memory until their exec, as with vfork. It is in the sandbox's flat v1 groups, so
// that the limit of processes holds for its children. There it counts as one process.
//
// A start that it cannot do goes the other way, by a fork of the keeper (child.h).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/unique_fd.h"
#include "keeper/child.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"
#include "keeper/reaper.h"
#include "keeper/slots.h"

namespace cay::keeper {

class Zygote {
 public:
  // Everything lives as long as the keeper. `changed`: its own (confine.h).
  Zygote(Loop& loop, Reaper& reaper, const Context& context, const Slots& slots,
         SignalBits changed);
  ~Zygote();

  // Makes one unless there is one. Called when no request waits: it is a fork of the keeper.
  void prepare();
  // Hands over the start of a command, of which `plan` has all but the groups. False: it has to be
  // started otherwise. If true, the plan's status pipe comes to its end: once the child runs its
  // program, or once it or the zygote is over. The caller calls over() then.
  bool start(ChildPlan plan, const Slot& slot);
  void over();
  // The sandbox has room for no further process: gives it the zygote's for a while.
  void make_room();
  // A start did not come to its end in time.
  void kill();
  // Ends it and waits for that; there is none from here on.
  void close();

  // 1: it is among the processes that the sandbox's group counts.
  std::uint32_t counted() const { return pid_ > 0 && !context_.pure_v2 ? 1 : 0; }

 private:
  bool possible() const;
  void drop();

  Loop& loop_;
  Reaper& reaper_;
  const Context& context_;
  const std::vector<int> flat_joins_;
  const SignalBits changed_signals_;
  pid_t pid_ = 0;
  UniqueFd socket_;
  std::size_t in_flight_ = 0;
  std::int64_t since_ = 0;  // monotonic_ms() when the oldest of them began, at the earliest
  std::int64_t not_before_ = 0;
  bool closed_ = false;
  bool was_used_ = false;
  Timer idle_;
};

}  // namespace cay::keeper
