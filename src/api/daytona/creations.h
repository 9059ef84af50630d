// Creations that wait for a build. Clients see a sandbox from the start, under the id that it gets
// once its snapshot is built. A daemon that ends gives them up: the next one knows no such id.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/principal.h"
#include "model/sandbox.h"

namespace cay::api::daytona {

struct Creation {
  enum class State { kPending, kBuilding, kCreating, kMade, kBuildFailed, kFailed };
  SandboxId id;
  TenantId tenant;
  SandboxSpec spec{};
  State state = State::kPending;
  SnapshotId snapshot{};  // that is being built; empty: not begun
  std::string error{};    // why it failed
  UnixMillis created_at = 0;
  UnixMillis over_at = 0;  // when it failed; 0: it did not
  bool removed = false;    // by a client, while it was under way
};

class Creations {
 public:
  // Null: none that is under way or has failed of late. `ref`: an id or a name.
  std::shared_ptr<Creation> find(const Principal& who, const std::string& ref) const;
  std::shared_ptr<Creation> claimed(const Principal& who, const std::string& claim) const;
  std::vector<std::shared_ptr<Creation>> list(const Principal& who) const;

  void add(std::shared_ptr<Creation> creation);
  void remove(const SandboxId& id) { all_.erase(id); }

 private:
  // Failures are kept for a while, so that whoever waits reads the reason.
  void forget_old();
  std::map<SandboxId, std::shared_ptr<Creation>> all_;
};

// The sandbox of a creation that is under way or failed, as far as it is known.
Sandbox row_of(const Creation& creation);
std::string_view state_text(const Creation& creation);

}  // namespace cay::api::daytona
