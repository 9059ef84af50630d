#include "runtime/keeper/keeper_sandbox.h"

#include <utility>

#include "runtime/keeper/keeper_calls.h"

namespace cay::runtime {

KeeperSandbox::KeeperSandbox(std::shared_ptr<PersistentLink> line, KeeperExtras extras)
    : KeeperCommands(line, extras.disk_reserve, std::move(extras.readers)),
      KeeperFiles(line),
      KeeperFileChanges(line),
      KeeperLayers(line),
      KeeperTunnels(line, extras.tunnels),
      KeeperState(line),
      line_(std::move(line)),
      tunnels_(std::move(extras.tunnels)),
      network_(std::move(extras.network)) {}

KeeperSandbox::~KeeperSandbox() {
  const Error why{Code::kLost, "keeper_lost", "the sandbox was stopped, or this daemon is ending",
                  0};
  if (tunnels_) tunnels_->close(why);
  line_->close(why);
}

std::shared_ptr<PersistentLink> keeper_line(asio::any_io_executor loop, KeeperAddress keeper,
                                            wire::Hello hello) {
  PersistentLink::Config config;
  config.peer = "the sandbox's keeper";
  config.dial = std::move(keeper.dial);
  config.hello = std::move(hello);
  config.key = std::move(keeper.key);
  config.mortal = true;
  config.unreachable =
      Error{Code::kUnavailable, "keeper_unreachable",
            "the sandbox's keeper does not answer: the host may be overloaded; retry, or stop and "
            "start the sandbox",
            0};
  config.check = [id = std::move(keeper.sandbox_id), instance = std::move(keeper.instance)](
                     const wire::Hello& theirs) -> Result<void> {
    const bool ours = theirs.role == "keeper" && (id.empty() || theirs.sandbox_id == id) &&
                      (instance.empty() || theirs.instance == instance);
    if (ours) return {};
    return Error{Code::kConflict, "wrong_keeper",
                 "the keeper's socket is held by " + theirs.role + " of sandbox " +
                     theirs.sandbox_id + ", instance " + theirs.instance,
                 0};
  };
  return PersistentLink::create(std::move(loop), std::move(config));
}

Task<void> polite_shutdown(std::shared_ptr<PersistentLink> line, Millis limit) {
  CAY_CO_TRY(auto link, co_await line->link(limit));
  auto channel = link->open();
  channel->send(wire::Type::kShutdown, std::string());
  const Deadline deadline = after(limit);
  auto answer = co_await channel->next(deadline);
  channel->finish();
  if (!answer) co_return std::move(answer).error();
  co_return Result<void>{};
}

}  // namespace cay::runtime
