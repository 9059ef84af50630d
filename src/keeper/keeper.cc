// run(): puts the keeper's parts together and turns the loop.
#include "keeper/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "keeper/command_index.h"
#include "keeper/command_requests.h"
#include "keeper/commands.h"
#include "keeper/files.h"
#include "keeper/freezer.h"
#include "keeper/guest_sockets.h"
#include "keeper/lender.h"
#include "keeper/loop.h"
#include "keeper/machine_files.h"
#include "keeper/notes.h"
#include "keeper/oom_victims.h"
#include "keeper/pauser.h"
#include "keeper/program_record.h"
#include "keeper/readers.h"
#include "keeper/reaper.h"
#include "keeper/server.h"
#include "keeper/slots.h"
#include "keeper/spawner.h"
#include "keeper/stats.h"
#include "keeper/tunnels.h"
#include "os/own_memory.h"
#include "wire/hello_proof.h"

namespace cay::keeper {
namespace {

constexpr std::int64_t kUnusedAfterMs = 1000;
constexpr std::int64_t kStopPatienceMs = 1500;  // killed processes are gone in a few milliseconds

// A running command needs at most eight descriptors: three pipe ends, while starting three more,
// two spool files and their directory.
std::uint32_t most_running(const Context& context) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::min(context.max_running, 64U);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t spare = limit.rlim_cur > 512 ? limit.rlim_cur - 512 : 0;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(context.max_running, std::max<std::uint64_t>(spare / 8, 8)));
}

}  // namespace

Result<void> check(const Context& context) {
  const auto* shared = std::get_if<SharedKey>(&context.daemon);
  if (shared != nullptr && shared->key.size() < wire::kHelloKey) {
    return Error{Code::kInvalidArgument, "short_key",
                 "the key that authenticates the daemon to a keeper has fewer than " +
                     std::to_string(wire::kHelloKey) + " bytes",
                 0};
  }
  return ProgramRecord::check(context);
}

void run(const Context& given) {
  static const Context context = given;
  ::prctl(PR_SET_DUMPABLE, 0);  // children are copies of us until they exec
  ::umask(027);                 // spools: the keeper writes, the daemon's group reads
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a full disk is an errno, also under RLIMIT_FSIZE
  ::signal(SIGHUP, SIG_IGN);
  ::fcntl(context.listen_fd, F_SETFL, ::fcntl(context.listen_fd, F_GETFL) | O_NONBLOCK);

  Loop loop;
  std::function<void()> end_of_all;
  Reaper reaper(loop, [&end_of_all] { end_of_all(); });
  Slots slots(loop, context);
  Spawner spawner(loop, reaper, context, slots);
  Server server(loop, context);
  Notes notes(server);
  StdinBudget stdin_budget;
  SpoolBudget spool_budget(context.sandbox_spool_limit);
  SpareDirectory spare_directory(context.spool_fd);
  loop.when_free([&spare_directory] { spare_directory.prepare(); });
  const OomVictims oom_victims(context.oom_victims_fd);
  const CommandContext shop{context,         loop,    server,       reaper,
                            slots,           spawner, stdin_budget, spool_budget,
                            spare_directory, notes,   oom_victims};
  Readers readers(loop, server);
  CommandIndex index(shop);
  Commands commands(shop, index, readers, most_running(context));
  CommandRequests requests(server, index, commands, readers);
  Files files(shop);
  Freezer freezer(loop, slots);
  Pauser pauser(server, commands, freezer);
  const auto active = [&slots, &pauser] { return slots.quiet_ms() == 0 && !pauser.paused(); };
  MachineFiles machine_files(loop, context, active);
  const auto wake = [&machine_files] { machine_files.wake(); };
  spawner.on_any_started(wake);
  pauser.on_resumed(wake);
  ProgramRecord programs(loop, context);
  GuestSockets guest_sockets(loop, reaper, context);
  Tunnels tunnels(loop, server, guest_sockets);
  Lender lender(loop, context);

  const auto exit = [&loop] { loop.stop(); };
  end_of_all = [&commands, exit] { commands.shut_down(kStopPatienceMs, exit); };
  Server::Services services;
  services.commands = &commands;
  services.requests = &requests;
  services.notes = &notes;
  services.readers = &readers;
  services.files = &files;
  services.pauser = &pauser;
  services.stats = [&slots, &commands, &pauser, &spawner] {
    wire::StatsMsg stats = read_stats(context, slots, commands.running());
    stats.pids -= std::min(stats.pids, spawner.counted());
    stats.paused = pauser.paused();
    return stats;
  };
  services.tunnels = &tunnels;
  services.shut_down = [&commands, &programs, &spawner](std::function<void()> done) {
    commands.shut_down(kStopPatienceMs, [&programs, &spawner, done = std::move(done)] {
      programs.close();  // before the answer: after it, the launcher ends us
      spawner.close();
      done();
    });
  };
  services.exit = exit;
  server.begin(std::move(services));

  // When init is gone, so is everything inside; what remains is to record it.
  Watch init;
  if (context.init_pidfd >= 0) {
    init = loop.watch(context.init_pidfd, EPOLLIN, [&init, &end_of_all](std::uint32_t) {
      init.reset();
      end_of_all();
    });
  }
  // We are a copy of the launcher. Not at once: many sandboxes live for a moment only.
  const Timer unused = loop.after(kUnusedAfterMs, [] { os::give_back_unused(); });
  loop.run();
  programs.close();
  spawner.close();
  ::_exit(0);
}

}  // namespace cay::keeper
