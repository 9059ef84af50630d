#include "runtime/native/live_keepers.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "runtime/keeper/keeper_sandbox.h"
#include "runtime/native/passed_tunnels.h"
#include "runtime/native/unix_dialer.h"

namespace cay::runtime {
namespace {

constexpr Millis kLaunchersReport{500};  // for the launcher to report why a keeper ended

}  // namespace

std::shared_ptr<PersistentLink> LiveKeepers::connect(const SandboxId& id) {
  KeeperAddress keeper{.dial = unix_dialer(config_.sockets + "/" + id.get() + ".sock"),
                       .sandbox_id = id.get(),
                       .instance = config_.instance};
  auto line = keeper_line(loop_, std::move(keeper), config_.hello);
  line->on_death([weak = weak_from_this(), id,
                  self = std::weak_ptr<PersistentLink>(line)](std::string reason) {
    const auto live = weak.lock();
    const auto gone = self.lock();
    if (!live || !gone || !live->holds(id, gone)) return;
    // The launcher knows why, and reports it soon.
    if (live->config_.launcher_reports()) return live->report_later(id, gone, std::move(reason));
    live->died(id, reason);
  });
  line->start();
  return line;
}

void LiveKeepers::report_later(SandboxId id, std::shared_ptr<PersistentLink> line,
                               std::string reason) {
  auto timer = std::make_shared<asio::steady_timer>(loop_, kLaunchersReport);
  timer->async_wait([timer, weak = weak_from_this(), id = std::move(id), line = std::move(line),
                     reason = std::move(reason)](boost::system::error_code failed) {
    const auto live = failed ? nullptr : weak.lock();
    if (live && live->holds(id, line)) live->died(id, reason);
  });
}

Task<std::shared_ptr<core::LiveSandbox>> LiveKeepers::greet(SandboxId id,
                                                            std::shared_ptr<PersistentLink> line,
                                                            std::optional<SandboxNetwork> network,
                                                            Millis limit) {
  auto self = shared_from_this();
  auto link = co_await line->link(limit);
  if (!link)
    co_return std::move(link).error().while_doing("reach the keeper of sandbox " + id.get());
  co_return self->keep(id, std::move(line), std::move(network));
}

std::shared_ptr<core::LiveSandbox> LiveKeepers::keep(const SandboxId& id,
                                                     std::shared_ptr<PersistentLink> line,
                                                     std::optional<SandboxNetwork> network) {
  lines_[id] = line;
  auto readers = std::make_shared<OpenReaders>(loop_);
  readers_[id] = readers;
  auto tunnels = std::make_shared<PassedTunnels>(line);
  KeeperExtras extras{.readers = std::move(readers),
                      .tunnels = std::move(tunnels),
                      .disk_reserve = config_.disk_reserve,
                      .network = std::move(network)};
  return std::make_shared<KeeperSandbox>(std::move(line), std::move(extras));
}

std::shared_ptr<PersistentLink> LiveKeepers::line_of(const SandboxId& id) const {
  const auto found = lines_.find(id);
  return found == lines_.end() ? nullptr : found->second;
}

std::shared_ptr<OpenReaders> LiveKeepers::readers_of(const SandboxId& id) const {
  const auto found = readers_.find(id);
  return found == readers_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<PersistentLink> LiveKeepers::take(const SandboxId& id) {
  const auto node = lines_.extract(id);
  return node ? node.mapped() : nullptr;
}

bool LiveKeepers::holds(const SandboxId& id, const std::shared_ptr<PersistentLink>& line) const {
  const auto found = lines_.find(id);
  return found != lines_.end() && found->second == line;
}

void LiveKeepers::forget(const SandboxId& id, const std::shared_ptr<PersistentLink>& line) {
  readers_.erase(id);
  if (line && holds(id, line)) lines_.erase(id);
}

void LiveKeepers::died(const SandboxId& id, const std::string& reason) {
  const auto line = take(id);
  if (!line) return;
  readers_.erase(id);
  line->die(reason);  // the launcher may have seen the end first
  const core::SandboxDeath death{.id = id, .reason = reason};
  if (!on_death_) return unreported_.push_back(death);
  on_death_(death);
}

void LiveKeepers::watch(std::function<void(core::SandboxDeath)> on_death) {
  on_death_ = std::move(on_death);
  for (const auto& death : std::exchange(unreported_, {})) on_death_(death);
}

void LiveKeepers::part() {
  for (const auto& [id, line] : lines_) line->part();
}

void LiveKeepers::close(const Error& why) {
  on_death_ = nullptr;
  for (const auto& [id, line] : std::exchange(lines_, {})) line->close(why);
}

}  // namespace cay::runtime
