// RoleWatch: a watcher (watcher.h) of `cay serve` that keeps a gate or a broker running for as long
// as the daemon lives.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "role.h"

namespace cay::app {

struct WatchedRole {
  const Role& role;
  std::string data;
  std::string identity;  // what it is to go by: one that goes by something else is replaced
  std::function<Error()> become;  // replaces the process that calls it; returns only an error
};

// Starts it if there is none, and the watcher as start_watcher() does. Returns once what is watched
// answers, or after 2 s: the watcher goes on trying.
Result<UniqueFd> watch_role(const WatchedRole& watched);

}  // namespace cay::app
