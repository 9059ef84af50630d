#include "runtime/native/live_sandbox.h"

#include <utility>

#include "runtime/native/keeper_calls.h"
#include "runtime/native/live_tunnel.h"

namespace cay::runtime {

NativeLiveSandbox::NativeLiveSandbox(std::shared_ptr<PersistentLink> line,
                                     std::uint64_t disk_reserve,
                                     std::optional<SandboxNetwork> network,
                                     std::shared_ptr<OpenReaders> readers)
    : KeeperCommands(line, disk_reserve, std::move(readers)),
      KeeperFiles(line),
      KeeperState(line),
      line_(std::move(line)),
      tunnels_(std::make_shared<PassedTunnels>(line_)),
      network_(std::move(network)) {}

NativeLiveSandbox::~NativeLiveSandbox() {
  const Error why{Code::kLost, "keeper_lost", "the sandbox was stopped, or this daemon is ending",
                  0};
  tunnels_->close(why);
  line_->close(why);
}

Task<std::unique_ptr<core::Tunnel>> NativeLiveSandbox::open_tunnel(std::uint16_t port) {
  CAY_CO_CHECK(co_await line_->link(kAnswerLimit));
  // Over TCP, and of an older keeper, there are no sockets to be had: it carries the bytes.
  auto opening =
      line_->theirs().passes_sockets ? tunnels_->open(port) : LiveTunnel::open(line_, port);
  auto tunnel = co_await std::move(opening);
  co_return std::move(tunnel);
}

std::shared_ptr<PersistentLink> keeper_line(asio::any_io_executor loop, Dialer dial,
                                            wire::Hello hello, std::string sandbox_id,
                                            std::string instance, std::string key) {
  PersistentLink::Config config;
  config.peer = "the sandbox's keeper";
  config.dial = std::move(dial);
  config.hello = std::move(hello);
  config.key = std::move(key);
  config.mortal = true;
  config.unreachable =
      Error{Code::kUnavailable, "keeper_unreachable",
            "the sandbox's keeper does not answer: the host may be overloaded; retry, or stop and "
            "start the sandbox",
            0};
  config.check = [id = std::move(sandbox_id),
                  instance = std::move(instance)](const wire::Hello& theirs) -> Result<void> {
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
