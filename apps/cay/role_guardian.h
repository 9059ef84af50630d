// RoleGuardian: the process of a gate or a broker that takes no input: it holds the lock, and keeps
// one that serves alive.
#pragma once
#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "role.h"

namespace cay::app {

// The first thing the process does. `mask`: of the files that it makes.
void begin_guardian(const Role& role, unsigned mask);

// Prints why it cannot serve and returns the exit code for that.
int refuse_to_serve(const Role& role, const std::string& why);

struct Guarded {
  // The worker, in a process of its own without the guardian's signals. It returns its exit code.
  // An exit code of its own stays: it is not needed, or cannot work with its settings. Its
  // descriptor is its end of the socket to the guardian. It is not valid without `answer`.
  std::function<int(UniqueFd asks)> serve;
  // Answers one question that came by the other end, which never blocks; false: none can come any
  // more. Without it there is no socket.
  std::function<bool(int asked)> answer = {};
};

// Starts `guarded` again whenever it is killed, until a signal ends us. The exit code.
int stand_guard(const Role& role, const Guarded& guarded);

}  // namespace cay::app
