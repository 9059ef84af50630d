// LauncherClient: the verbs of the launcher (wire/messages.h), over a connection that comes back
// when the launcher was restarted. All its verbs are idempotent there, so they are repeated.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/keeper/channel.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class LauncherClient {
 public:
  struct Config {
    Dialer dial;
    wire::Hello hello;       // ours
    std::string instance;    // the launcher's must be the same
    std::string start_hint;  // what to run when it does not answer
    Millis connect_limit{20'000};
  };
  LauncherClient(asio::any_io_executor loop, Config config);
  ~LauncherClient();
  LauncherClient(const LauncherClient&) = delete;
  LauncherClient& operator=(const LauncherClient&) = delete;

  // Called on the loop for every sandbox that ended unrequested. A reconnect may report a death
  // again.
  void on_died(std::function<void(const wire::SandboxEntry&)> handler) {
    on_died_ = std::move(handler);
  }

  // All: kUnavailable (launcher_unavailable) when it cannot be reached in time.
  Task<wire::Created> create(wire::CreateSandbox request);
  Task<void> stop(std::string sandbox_id);
  Task<void> destroy(std::string sandbox_id);
  Task<std::vector<wire::SandboxEntry>> list();
  Task<wire::SnapshotMsg> prepare_default(wire::PrepareDefault with,
                                          std::function<void(std::string)> progress);
  Task<std::vector<wire::FeatureMsg>> probe();

  // Whether the launcher that greeted last lists this word of wire/launcher_features.h.
  bool has(std::string_view feature) const { return line_->theirs().has(feature); }
  // Its last HELLO; empty before it was met.
  const wire::Hello& theirs() const { return line_->theirs(); }

  bool connected() const { return line_->connected(); }
  std::uint64_t connections() const { return line_->connections(); }

  // Sends a request, and gives each frame of the answer to what `begin` returned, until that
  // returns true. After a lost link all is repeated, from `begin` on. `silence` is the longest wait
  // for one frame.
  using Take = std::function<Result<bool>(const wire::Frame&)>;
  Task<void> converse(wire::Type type, std::string payload, Millis silence,
                      std::function<Take()> begin);

 private:
  std::shared_ptr<PersistentLink> line_;
  Millis connect_limit_;
  std::function<void(const wire::SandboxEntry&)> on_died_;
};

}  // namespace cay::runtime
