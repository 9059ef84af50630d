#include "launcher/sandboxes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "launcher/validate.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

constexpr const char* kStarved =
    "keeper killed by the kernel's out-of-memory killer: no memory was left on the host, or in the "
    "group that Cay runs in";
constexpr auto kBirthLimit = std::chrono::seconds(20);
constexpr auto kCopyLimit = std::chrono::seconds(30);  // together below a daemon's wait (60 s)
constexpr int kSlowRetryMs = 20;
// Commands in a spool that are quickly given to another keeper.
constexpr std::size_t kFewKept = 128;

std::string end_reason(int status, bool known) {
  if (!known) return "keeper lost";
  if (WIFSIGNALED(status)) return "keeper killed by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "sandbox ended";
  return "keeper ended with code " + std::to_string(WEXITSTATUS(status));
}

void answer_created(Outbox& outbox, const ReplyTo& to, const SandboxState& sandbox) {
  reply(outbox, to, wire::Type::kCreated,
        wire::Created{sandbox.id, sandbox.record.keeper_pid, sandbox.record.disk_enforced_by,
                      sandbox.record.program_group != 0, sandbox.record.policy,
                      sandbox.record.no_network, sandbox.record.profile, true, true});
}

// Returns the names that sandboxes have on the host, with or without a record.
std::vector<std::string> ids_on_host(const Host& host) {
  std::vector<std::string> ids;
  const auto add = [&](const Result<std::vector<std::string>>& names) {
    if (names) ids.insert(ids.end(), names->begin(), names->end());
  };
  add(host.groups.ids());
  add(host.disks.ids());
  add(os::list_dir(host.spool.get()));
  const auto sockets = os::list_dir(host.run.get());
  if (sockets) {
    for (const std::string& name : *sockets) {
      if (name.ends_with(".sock")) ids.push_back(name.substr(0, name.size() - 5));
    }
  }
  constexpr std::size_t kUuid = 36;
  const auto at_gate = os::list_dir(host.gate.get());
  if (at_gate) {
    for (const std::string& name : *at_gate) ids.push_back(name.substr(0, kUuid));
  }
  return ids;
}

// Returns the slot of the groundwork, if one fits, and leaves that in the sandbox's state.
Result<Slot> take_slot(Host& host, SpareGround& ground, SandboxState& sandbox) {
  // A restart keeps its old range if much in its spool belongs to that keeper's uid.
  const auto spool = sandbox.has_record ? os::open_dir(host.spool.get(), sandbox.id)
                                        : Result<UniqueFd>(UniqueFd());
  const auto kept = spool && *spool ? os::list_dir(spool->get())
                                    : Result<std::vector<std::string>>(std::vector<std::string>());
  if (kept && kept->size() <= kFewKept) sandbox.ground = ground.take(*sandbox.wanted);
  if (sandbox.ground) return std::move(sandbox.ground->slot);
  Result<Slot> slot = sandbox.has_record ? host.slots.take(sandbox.record.slot) : host.slots.take();
  if (!slot && slot.error().reason == "slot_taken") slot = host.slots.take();
  if (!slot && ground.drop()) slot = host.slots.take();
  return slot;
}

}  // namespace

void Sandboxes::create(const ReplyTo& to, const wire::CreateSandbox& request) {
  if (!request.record_programs) return create_now(to, request);
  programs_.when_ready([this, to, request](const Result<void>& ready) {
    if (!ready) return reply_error(outbox_, to, ready.error());
    create_now(to, request);
  });
}

void Sandboxes::create_now(const ReplyTo& to, const wire::CreateSandbox& request) {
  const auto found = sandboxes_.find(request.sandbox_id);
  if (found != sandboxes_.end()) {
    const Sandbox& known = *found->second;
    if (known.phase == Phase::kAlive) return answer_created(outbox_, to, known);
    if (known.phase != Phase::kStopped) {
      return reply_error(outbox_, to,
                         Error{Code::kNotReady, "sandbox_busy",
                               "sandbox " + known.id + " is being started or stopped: retry", 0});
    }
    // Unknown where the record was lost: then the daemon's word is all there is.
    if (!known.record.snapshot_id.empty() && known.record.snapshot_id != request.snapshot_id &&
        !request.fresh_disk) {
      return reply_error(outbox_, to,
                         Error{Code::kConflict, "other_snapshot",
                               "the disk of sandbox " + known.id + " belongs to snapshot " +
                                   known.record.snapshot_id,
                               0});
    }
  }
  if (found != sandboxes_.end() && found->second->has_record && !request.fresh_disk &&
      !host_.disks.exists(request.sandbox_id)) {
    return reply_error(outbox_, to,
                       Error{Code::kLost, "disk_lost",
                             "the disk of sandbox " + request.sandbox_id +
                                 " is gone from DATA/store, and nobody deleted the sandbox: "
                                 "restore a backup, or delete it",
                             0});
  }
  auto& sandbox = sandboxes_[request.sandbox_id];
  if (!sandbox) sandbox = std::make_unique<Sandbox>();
  sandbox->id = request.sandbox_id;
  sandbox->phase = Phase::kStarting;
  sandbox->creator = to;
  sandbox->failed.reset();
  sandbox->deadline = Clock::now() + kBirthLimit;
  deaths_.erase(request.sandbox_id);
  sandbox->wanted = request;
  auto begun = begin(*sandbox);
  if (!begun) fail(*sandbox, std::move(begun).error());
}

Result<void> Sandboxes::begin(Sandbox& sandbox) {
  const wire::CreateSandbox& request = *sandbox.wanted;
  spares_.note_activity();
  if (::mkdirat(host_.sandboxes.get(), sandbox.id.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno(errno, "record the sandbox");
  }
  CAY_CHECK(host_.step("record"));
  CAY_TRY(sandbox.slot, take_slot(host_, ground_, sandbox));
  sandbox.fresh_disk = request.fresh_disk || !host_.disks.exists(sandbox.id);
  if (!sandbox.has_record) sandbox.record = Record{};
  sandbox.record.snapshot_id = request.snapshot_id;
  sandbox.record.on_nothing = request.snapshot_id.empty();
  sandbox.record.slot = sandbox.slot->number;
  sandbox.record.policy = request.builds_layer ? "" : request.policy;
  sandbox.record.profile = to_string(profile_of(request));
  sandbox.record.mounted_layers.clear();
  sandbox.record.mounted_volumes.clear();
  for (const wire::DiskMountMsg& mount : request.mounts) {
    auto& names =
        mount.volume_id.empty() ? sandbox.record.mounted_layers : sandbox.record.mounted_volumes;
    names.push_back(mount.volume_id.empty() ? mount.layer_id : mount.volume_id);
  }
  CAY_TRY(const DiskPlan disk, bases_.plan_disk(sandbox));
  if (!disk.fresh && !disk.origin.copies()) return give_birth(sandbox);
  CAY_TRY(const bool taken, spares_.take(disk));
  if (taken) return give_birth(sandbox);
  CAY_TRY(sandbox.maker, DiskMaker::start(host_, disk));
  if (!request.builds_layer && !disk.origin.layer.empty()) spares_.refill(disk.origin.layer);
  sandbox.deadline = Clock::now() + kCopyLimit;
  poller_.watch(sandbox.maker->fd(), EPOLLIN,
                [this, id = sandbox.id](std::uint32_t) { on_disk_made(id); });
  return {};
}

void Sandboxes::on_disk_made(const std::string& id) {
  Sandbox& sandbox = *sandboxes_.at(id);
  poller_.forget(sandbox.maker->fd());
  auto made = sandbox.maker->result();
  sandbox.maker.reset();
  sandbox.deadline = Clock::now() + kBirthLimit;
  if (made) made = give_birth(sandbox);
  if (!made) fail(sandbox, std::move(made).error());
}

Result<void> Sandboxes::give_birth(Sandbox& sandbox) {
  const wire::CreateSandbox& request = *sandbox.wanted;
  BirthPlan plan;
  plan.id = sandbox.id;
  plan.hostname = request.hostname;
  CAY_TRY(plan.layers, bases_.stack_on(request.snapshot_id));
  plan.limits = {request.cpu_millicores, request.memory_bytes, request.pids};
  plan.disk_bytes = request.disk_bytes;
  plan.spool_bytes = request.spool_bytes;
  plan.waits_for_use = request.waits_for_use;
  plan.policy = sandbox.record.policy;
  plan.profile = profile_of(request);
  plan.nested_networks = request.nested_networks;
  plan.tmpfs = request.tmpfs;
  plan.mounts = request.mounts;
  plan.read_only_paths = request.read_only_paths;
  plan.hidden_paths = request.hidden_paths;
  plan.network_required = request.network_required;
  if (!request.builds_layer) {
    CAY_TRY(plan.network, networks_.plan_for(request));
  }
  plan.fresh_disk = sandbox.fresh_disk;
  plan.forked = sandbox.fresh_disk && !request.disk_of.empty();
  plan.builds_layer = request.builds_layer;
  if (request.record_programs) {
    plan.tap = [this, &sandbox](int cmds) {
      auto tap = programs_.tap(cmds);
      if (tap) {
        sandbox.record.program_group = tap->id.group;
        sandbox.record.program_rings = tap->id.rings;
        sandbox.record.program_states = tap->id.states;
      }
      return tap;
    };
  }
  plan.ground = std::exchange(sandbox.ground, std::nullopt);
  CAY_TRY(sandbox.birth, Birth::begin(host_, plan, *sandbox.slot));
  sandbox.pidfd = std::move(sandbox.birth->pidfd());
  sandbox.child = sandbox.birth->pid();
  poller_.watch(sandbox.birth->fd(), EPOLLIN,
                [this, id = sandbox.id](std::uint32_t) { on_birth(id); });
  CAY_CHECK(host_.step("fork the keeper"));
  return sandbox.birth->supply(host_, plan, *sandbox.slot);
}

void Sandboxes::on_birth(const std::string& id) {
  Sandbox& sandbox = *sandboxes_.at(id);
  auto state = sandbox.birth->advance();
  if (!state) return fail(sandbox, std::move(state).error());
  if (*state == Birth::State::kReady) confirm(sandbox);
}

void Sandboxes::confirm(Sandbox& sandbox) {
  poller_.forget(sandbox.birth->fd());
  sandbox.record.no_network = sandbox.birth->no_network();
  if (!sandbox.record.no_network.empty()) {  // or the gate would request sockets again and again
    (void)os::unlink_as(host_.gate.get(), sandbox.id + ".sock", host_.config.gate_uid,
                        host_.config.gate_gid);
  }
  sandbox.birth.reset();
  sandbox.record.alive = true;
  sandbox.record.keeper_pid = sandbox.child;
  sandbox.record.start_time = os::start_time_of(sandbox.child);
  sandbox.record.boot_id = host_.boot_id;
  sandbox.record.disk_enforced_by = host_.disks.enforced_by();
  auto written = write_record(host_.sandboxes.get(), sandbox.id, sandbox.record);
  if (!written) return fail(sandbox, std::move(written).error().while_doing("record the sandbox"));
  sandbox.has_record = true;
  sandbox.phase = Phase::kAlive;
  watch_keeper(sandbox);
  const std::optional<ReplyTo> creator = std::exchange(sandbox.creator, std::nullopt);
  if (creator) answer_created(outbox_, *creator, sandbox);
}

void Sandboxes::watch_keeper(Sandbox& sandbox) {
  poller_.watch(sandbox.pidfd.get(), EPOLLIN,
                [this, id = sandbox.id](std::uint32_t) { on_keeper_end(id); });
}

void Sandboxes::on_keeper_end(const std::string& id) {
  Sandbox& sandbox = *sandboxes_.at(id);
  if (sandbox.phase == Phase::kEnding) {
    poller_.forget(sandbox.pidfd.get());
    (void)try_finish(sandbox);
    return;
  }
  int status = 0;
  const bool known =
      sandbox.child != 0 && ::waitpid(sandbox.child, &status, WNOHANG) == sandbox.child;
  if (known) sandbox.child = 0;
  const bool starved =
      host_.oom.chose(static_cast<pid_t>(sandbox.record.keeper_pid), host_.groups.keeper_group(id));
  const std::string reason = starved ? kStarved : end_reason(status, known);
  end(sandbox, Keep::kDisk);
  wire::SandboxEntry entry;
  entry.sandbox_id = id;
  entry.has_disk = host_.disks.exists(id);
  entry.reason = reason;
  outbox_.broadcast(frame_of(wire::Type::kDied, 0, entry));
}

// A creation that failed: back to where it began.
void Sandboxes::fail(Sandbox& sandbox, Error error) {
  sandbox.failed = std::move(error);
  end(sandbox, sandbox.has_record ? Keep::kDisk : Keep::kNothing);
}

void Sandboxes::stop(const ReplyTo& to, const std::string& id) {
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end() || found->second->phase == Phase::kStopped) {
    return reply(outbox_, to, wire::Type::kOk, wire::Empty{});
  }
  Sandbox& sandbox = *found->second;
  sandbox.enders.push_back(to);
  if (sandbox.phase == Phase::kEnding) return;
  if (sandbox.phase == Phase::kStarting) {
    return fail(sandbox,
                Error{Code::kCancelled, "stopped", "the sandbox was stopped before it was up", 0});
  }
  end(sandbox, Keep::kDisk);
}

void Sandboxes::destroy(const ReplyTo& to, const std::string& id) {
  auto& sandbox = sandboxes_[id];  // one we do not know may still have left something
  if (!sandbox) {
    sandbox = std::make_unique<Sandbox>();
    sandbox->id = id;
  }
  sandbox->enders.push_back(to);
  if (sandbox->phase == Phase::kStarting) {
    sandbox->failed =
        Error{Code::kCancelled, "destroyed", "the sandbox was deleted before it was up", 0};
  }
  end(*sandbox, Keep::kNothing);
}

void Sandboxes::end(Sandbox& sandbox, Keep keep) {
  if (sandbox.phase == Phase::kEnding) {
    if (keep == Keep::kNothing) sandbox.keep = keep;
    return;
  }
  if (sandbox.birth) poller_.forget(sandbox.birth->fd());
  if (sandbox.maker) poller_.forget(sandbox.maker->fd());
  const bool watched = sandbox.phase == Phase::kAlive;
  spares_.note_activity();
  sandbox.birth.reset();
  sandbox.ground.reset();
  sandbox.phase = Phase::kEnding;
  sandbox.keep = keep;
  sandbox.tries = 0;
  sandbox.speak_at = Clock::now() + host_.config.patience;
  removal_.kill(sandbox);
  // The ends of both bring the next tries.
  if (sandbox.pidfd && !watched) watch_keeper(sandbox);
  if (sandbox.init) {
    poller_.watch(sandbox.init.get(), EPOLLIN, [this, id = sandbox.id](std::uint32_t) {
      Sandbox& ending = *sandboxes_.at(id);
      poller_.forget(ending.init.get());
      ending.init.reset();
      (void)try_finish(ending);
    });
  }
  ground_.refill();  // while the kernel ends those processes
  (void)try_finish(sandbox);
}

bool Sandboxes::try_finish(Sandbox& sandbox) {
  // At first every millisecond; one that hangs in the kernel, or has much to remove, must not cost
  // a CPU. Nor one whose end is an event.
  const bool quick = ++sandbox.tries < 100 && !SandboxRemoval::is_awaited(sandbox);
  sandbox.deadline = Clock::now() + std::chrono::milliseconds(quick ? 1 : kSlowRetryMs);
  auto left = removal_.remove_traces(sandbox);
  if (left && *left == Left::kNothing) {
    finish(sandbox);
    return true;
  }
  if (Clock::now() >= sandbox.speak_at) {
    sandbox.speak_at = Clock::now() + host_.config.patience;
    const Error why =
        left ? SandboxRemoval::why_unfinished(sandbox.id, *left) : std::move(left).error();
    std::fprintf(stderr, "cay-launcher: the end of sandbox %s is not over: %s\n",
                 sandbox.id.c_str(), why.message.c_str());
    for (const ReplyTo& to : std::exchange(sandbox.enders, {})) reply_error(outbox_, to, why);
  }
  return false;
}

void Sandboxes::finish(Sandbox& sandbox) {
  if (sandbox.pidfd) poller_.forget(sandbox.pidfd.get());
  if (sandbox.init) poller_.forget(sandbox.init.get());
  sandbox.pidfd.reset();
  sandbox.init.reset();
  sandbox.slot.reset();
  const auto creator = std::exchange(sandbox.creator, std::nullopt);
  const auto enders = std::exchange(sandbox.enders, {});
  const auto failed = std::exchange(sandbox.failed, std::nullopt);
  sandbox.phase = Phase::kStopped;
  if (sandbox.keep == Keep::kNothing)
    sandboxes_.erase(sandbox.id);  // `sandbox` is gone from here on
  if (creator) {
    reply_error(
        outbox_, *creator,
        failed ? *failed
               : Error{Code::kCancelled, "stopped", "the sandbox was stopped before it was up", 0});
  }
  for (const ReplyTo& to : enders) reply(outbox_, to, wire::Type::kOk, wire::Empty{});
}

void Sandboxes::list(const ReplyTo& to) {
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->phase == Phase::kEnding && sandbox->keep == Keep::kNothing) continue;
    wire::SandboxEntry entry;
    entry.sandbox_id = id;
    entry.alive = sandbox->phase == Phase::kAlive;
    entry.has_disk = host_.disks.exists(id);
    if (entry.alive) {
      entry.keeper_pid = sandbox->record.keeper_pid;
      entry.policy = sandbox->record.policy;
      entry.no_network = sandbox->record.no_network;
    }
    reply(outbox_, to, wire::Type::kSandboxEntry, entry);
  }
  reply(outbox_, to, wire::Type::kEof, wire::Eof{});
}

void Sandboxes::tell_deaths(std::uint64_t connection) {
  for (const auto& [id, reason] : deaths_) {
    wire::SandboxEntry entry;
    entry.sandbox_id = id;
    entry.has_disk = host_.disks.exists(id);
    entry.reason = reason;
    outbox_.send(connection, frame_of(wire::Type::kDied, 0, entry));
  }
}

int Sandboxes::tick() {
  const auto now = Clock::now();
  int others = programs_.tick();
  for (const int other : {spares_.tick(), ground_.tick(), removal_.tick()}) {
    if (other >= 0) others = others < 0 ? other : std::min(others, other);
  }
  std::vector<std::string> due;
  std::optional<Clock::time_point> next;
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->phase != Phase::kStarting && sandbox->phase != Phase::kEnding) continue;
    if (sandbox->deadline <= now) {
      due.push_back(id);
    } else if (!next || sandbox->deadline < *next) {
      next = sandbox->deadline;
    }
  }
  for (const std::string& id : due) {
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end()) continue;
    Sandbox& sandbox = *found->second;
    if (sandbox.phase == Phase::kEnding) {
      (void)try_finish(sandbox);
    } else if (sandbox.phase == Phase::kStarting) {
      fail(sandbox, Error{Code::kDeadlineExceeded, "boot_deadline",
                          sandbox.maker ? "the disk was not copied in 30 s"
                                        : "the sandbox did not come up in 20 s",
                          0});
    }
  }
  if (!due.empty()) return 1;
  if (!next) return others;
  const int own =
      static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*next - now).count());
  return others < 0 ? own : std::min(own, others);
}

Result<void> Sandboxes::adopt() {
  CAY_TRY(const auto names, os::list_dir(host_.sandboxes.get()));
  for (const std::string& id : names) {
    if (!is_uuid(id)) continue;
    auto& sandbox = sandboxes_[id];
    sandbox = std::make_unique<Sandbox>();
    sandbox->id = id;
    const auto found = read_record(host_.sandboxes.get(), id);
    if (found && !*found) {
      end(*sandbox, Keep::kNothing);  // never confirmed: no client knows that it exists
      continue;
    }
    sandbox->has_record = true;
    if (!found) {
      // It was confirmed: its disk is somebody's, and is not thrown away for a record that is lost.
      std::fprintf(stderr, "cay-launcher: %s: its sandbox is taken as stopped\n",
                   found.error().message.c_str());
      deaths_[id] = "its record was lost";
      end(*sandbox, Keep::kDisk);
      continue;
    }
    const std::optional<Record>& record = *found;
    sandbox->record = *record;
    // Numbers of an earlier boot name nothing, or something else.
    if (record->boot_id != host_.boot_id) sandbox->record.program_group = 0;
    if (record->alive && record->boot_id == host_.boot_id) {
      auto keeper = os::open_process(static_cast<pid_t>(record->keeper_pid), record->start_time);
      if (keeper) {
        sandbox->pidfd = std::move(*keeper);
        sandbox->phase = Phase::kAlive;
        watch_keeper(*sandbox);
        continue;
      }
    }
    if (record->alive)
      deaths_[id] = record->boot_id == host_.boot_id ? "keeper lost" : "the host was restarted";
    end(*sandbox, Keep::kDisk);
  }
  // The record is made first and removed last: names on the host without one are leftovers.
  for (const std::string& id : ids_on_host(host_)) {
    if (!is_uuid(id) || sandboxes_.contains(id)) continue;
    auto& sandbox = sandboxes_[id];
    sandbox = std::make_unique<Sandbox>();
    sandbox->id = id;
    end(*sandbox, Keep::kNothing);
  }
  return {};
}

}  // namespace cay::launcher
