// Sandboxes: the state of each one, and the verbs. Long waits (a birth, an end) are events, so one
// sandbox never holds another up.
//
//   absent --create--> kStarting --ready--> kAlive --keeper ends / stop / destroy--> kEnding -->
//   kStopped or absent
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/birth.h"
#include "launcher/guest_network_plans.h"
#include "launcher/host.h"
#include "launcher/outbox.h"
#include "launcher/poller.h"
#include "launcher/program_recorder.h"
#include "launcher/record.h"
#include "launcher/sandbox_bases.h"
#include "launcher/sandbox_removal.h"
#include "launcher/sandbox_state.h"
#include "launcher/spare_disks.h"
#include "launcher/spare_ground.h"
#include "wire/messages.h"

namespace cay::launcher {

class Sandboxes {
 public:
  Sandboxes(Host& host, Poller& poller, Outbox& outbox)
      : host_(host),
        poller_(poller),
        outbox_(outbox),
        programs_(poller),
        removal_(host, poller, programs_),
        spares_(host, poller, outbox),
        ground_(host, poller, networks_) {}

  // At start: takes back what lives, finishes what was cut short, removes what nobody knows.
  Result<void> adopt();

  void create(const ReplyTo& to,
              const wire::CreateSandbox& request);  // idempotent while it is alive
  void stop(const ReplyTo& to, const std::string& id);
  void destroy(const ReplyTo& to, const std::string& id);
  void list(const ReplyTo& to);
  // Reports the sandboxes that died while no launcher looked, to a connection that has just sent
  // HELLO.
  void tell_deaths(std::uint64_t connection);
  // The layers and volumes that they need.
  const SandboxBases& bases() const { return bases_; }

  // Retries and deadlines. Returns the milliseconds until it wants to be called again; -1: never.
  int tick();

 private:
  using Clock = std::chrono::steady_clock;
  using Sandbox = SandboxState;
  using Phase = SandboxState::Phase;
  using Keep = SandboxState::Keep;
  using Left = SandboxRemoval::Left;

  void create_now(const ReplyTo& to, const wire::CreateSandbox& request);
  Result<void> begin(Sandbox& sandbox);
  void on_disk_made(const std::string& id);
  Result<void> give_birth(Sandbox& sandbox);
  void on_birth(const std::string& id);
  void on_keeper_end(const std::string& id);
  void confirm(Sandbox& sandbox);
  void watch_keeper(Sandbox& sandbox);
  void end(Sandbox& sandbox, Keep keep);
  void fail(Sandbox& sandbox, Error error);
  // One try to finish an end; true when it is over (the sandbox may then be gone from the map).
  bool try_finish(Sandbox& sandbox);
  void finish(Sandbox& sandbox);

  Host& host_;
  Poller& poller_;
  Outbox& outbox_;
  ProgramRecorder programs_;
  SandboxRemoval removal_;
  SpareDisks spares_;
  GuestNetworkPlans networks_;
  SpareGround ground_;
  SandboxStates sandboxes_;
  SandboxBases bases_{host_, sandboxes_};
  std::map<std::string, std::string> deaths_;  // id -> reason
};

}  // namespace cay::launcher
