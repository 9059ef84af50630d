// LiveKeepers: the connections to the keepers of the sandboxes that live, and who learns of their
// ends. A keeper's own connection and the launcher both show its end. It is reported once, with the
// launcher's reason if that comes in time.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ports/runtime.h"
#include "runtime/keeper/command_reader.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class LiveKeepers : public std::enable_shared_from_this<LiveKeepers> {
 public:
  struct Config {
    std::string sockets;  // the directory of the keepers' sockets: DATA/run
    std::string instance;
    wire::Hello hello;  // ours
    std::uint64_t disk_reserve = 0;
    // The launcher is connected, and reports each end with its reason.
    std::function<bool()> launcher_reports;
  };
  LiveKeepers(asio::any_io_executor loop, Config config)
      : loop_(std::move(loop)), config_(std::move(config)) {}
  LiveKeepers(const LiveKeepers&) = delete;
  LiveKeepers& operator=(const LiveKeepers&) = delete;

  // Begins to connect. The connection is not ours before keep() or greet().
  std::shared_ptr<PersistentLink> connect(const SandboxId& id);
  // Returns the live sandbox once its keeper has greeted.
  Task<std::shared_ptr<core::LiveSandbox>> greet(SandboxId id, std::shared_ptr<PersistentLink> line,
                                                 std::optional<SandboxNetwork> network,
                                                 Millis limit);
  // The same without waiting for the greeting.
  std::shared_ptr<core::LiveSandbox> keep(const SandboxId& id, std::shared_ptr<PersistentLink> line,
                                          std::optional<SandboxNetwork> network);

  bool contains(const SandboxId& id) const { return lines_.contains(id); }
  // Null if it does not live.
  std::shared_ptr<PersistentLink> line_of(const SandboxId& id) const;
  std::shared_ptr<OpenReaders> readers_of(const SandboxId& id) const;
  // Gives its connection up: an end from here on was requested, and is not reported.
  std::shared_ptr<PersistentLink> take(const SandboxId& id);
  // The same for this connection alone, with its readers.
  void forget(const SandboxId& id, const std::shared_ptr<PersistentLink>& line);
  void forget_readers(const SandboxId& id) { readers_.erase(id); }

  // It ended unrequested.
  void died(const SandboxId& id, const std::string& reason);
  // Reports the ends to `on_death`, and at once those that nobody was there for.
  void watch(std::function<void(core::SandboxDeath)> on_death);
  // As PersistentLink::part(), of all.
  void part();
  // Closes all; sandboxes live on. Reports nothing afterwards.
  void close(const Error& why);

 private:
  bool holds(const SandboxId& id, const std::shared_ptr<PersistentLink>& line) const;
  void report_later(SandboxId id, std::shared_ptr<PersistentLink> line, std::string reason);

  asio::any_io_executor loop_;
  Config config_;
  std::map<SandboxId, std::shared_ptr<PersistentLink>> lines_;
  std::map<SandboxId, std::weak_ptr<OpenReaders>> readers_;
  std::function<void(core::SandboxDeath)> on_death_;
  std::vector<core::SandboxDeath> unreported_;  // between adopt() and watch()
};

}  // namespace cay::runtime
