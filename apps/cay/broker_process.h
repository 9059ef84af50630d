// The app starts the broker as a user of its own, and keeps one alive beside a daemon, as it does
// for the gate (gate_process.h). The broker holds its settings and the directory DATA/vault. No
// other process can open the files in it.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "role.h"
#include "vault/broker.h"

namespace cay::app {

// Only the user who starts the broker may read its identity: a digest of the proxy's password is in
// it.
inline constexpr Role kBroker{.word = "broker",
                              .directory = "vault",
                              .user = "cay-broker",
                              .uid = 0x70000003 /* beside the gate's */,
                              .socket = vault::kDaemonSocket,
                              .lock_mode = 0600,
                              .worker = "cay-broker-w",
                              .watcher = "cay-watch-brok"};

struct BrokerOptions {
  vault::Settings settings;  // its data directory and who may speak with it included
  DaemonUser user;           // who the broker becomes
};

// Returns the broker's user. For a data directory in use it is the owner of the keys there, else
// role_user().
Result<DaemonUser> broker_user_of(const std::string& data);

// Replaces this process by the broker. Returns only an error.
Error become_broker(const BrokerOptions& options, vault::Life life);

// Keeps a broker alive in the process that become_broker() made. Returns the exit code.
int run_broker_guardian(vault::Life life);

// role_watch.h.
Result<UniqueFd> watch_broker(const BrokerOptions& options);

}  // namespace cay::app
