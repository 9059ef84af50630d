// The broker's process: started, watched over and ended, as the gate's is (gate_process.h). It runs as a user of its own where root can
// give it one, holds its settings and the directory DATA/vault, and is the only one that can open what is in there.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "data_dir.h"
#include "vault/broker.h"

namespace cay::app {

struct BrokerOptions {
  vault::Settings settings;  // its data directory and who may speak with it included
  DaemonUser user;           // who the broker becomes
};

// `wanted`, else the user `cay-broker` if there is one, else a uid of Cay's own range; of a daemon that root does not start, who we are.
Result<DaemonUser> broker_user(const std::string& wanted);
// The same for a data directory that is in use: who DATA/vault belongs to.
Result<DaemonUser> broker_user_of(const std::string& data);
// Whether it is ours to start: a unit may run it.
bool broker_is_ours(const std::string& data, const DaemonUser& user);

// The pid of the broker of this data directory; nullopt: none runs.
std::optional<pid_t> broker_pid(const std::string& data);

// Replaces this process by the broker. Returns only an error.
Error become_broker(const BrokerOptions& options, vault::Life life);
// Ends it; what is open through it is reset. No broker: success.
Result<void> stop_broker(const std::string& data);
// What become_broker() becomes: keeps one that serves alive. The exit code.
int run_broker_guardian(vault::Life life);

// Starts it, replaces one of other settings, and keeps one running for as long as the descriptor that is returned is open.
Result<UniqueFd> watch_broker(const BrokerOptions& options);

}  // namespace cay::app
