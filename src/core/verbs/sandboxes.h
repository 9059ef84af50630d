// Sandboxes: creates, lists, changes and removes sandboxes. `ref` is a sandbox's id or name.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/task.h"
#include "model/principal.h"
#include "model/sandbox.h"
#include "model/snapshot_request.h"

namespace cay::core {

struct CreateOptions {
  bool wait_for_ready = true;
  std::chrono::milliseconds timeout{30'000};  // with wait: kDeadlineExceeded, and nothing is left
};

// The sandboxes to remove: the named ones, and those with all of these labels (`every`: all).
struct RemovalQuery {
  std::vector<std::string> refs;
  std::vector<std::pair<std::string, std::optional<std::string>>> labels;
  bool every = false;
};
struct Removal {
  std::string ref;  // as in the request, or the name
  Result<void> done;
};

class Sandboxes {
 public:
  virtual ~Sandboxes() = default;
  virtual Task<Sandbox> create(Principal who, SandboxSpec spec, CreateOptions options) = 0;
  virtual Task<Sandbox> get(Principal who, std::string ref) = 0;
  // Returns whose sandbox it is, for a token that names the sandbox alone. Fails kNotFound.
  virtual Result<TenantId> tenant_of(const SandboxId& id) = 0;
  virtual Task<SandboxPage> list(Principal who, SandboxQuery query) = 0;
  virtual Task<Sandbox> update(Principal who, std::string ref, SandboxPatch patch) = 0;
  // Starts a stopped or failed sandbox, and returns at once in kProvisioning. A paused one resumes;
  // a ready one stays as it is.
  virtual Task<Sandbox> start(Principal who, std::string ref) = 0;
  // Returns once nothing of it runs, after seconds at most.
  virtual Task<void> stop(Principal who, std::string ref) = 0;
  // Freezes what runs, which keeps its memory. Returns once that is done. A paused sandbox stays as
  // it is; any other state than ready fails.
  virtual Task<Sandbox> pause(Principal who, std::string ref) = 0;
  virtual Task<Sandbox> resume(Principal who, std::string ref) = 0;  // from paused; ready: as it is
  virtual Task<void> remove(Principal who, std::string ref) = 0;     // any state
  // Copies a sandbox with its disk, as it is at one moment. Running programs stand still meanwhile.
  // The copies have the source's settings, and are ready when this returns. If one fails, none is
  // left. The memory of processes is not copied. Fails kUnsupported (forks_unsupported).
  virtual Task<std::vector<Sandbox>> fork(Principal who, std::string ref, ForkRequest request) = 0;
  // Stops it, gives it the disk of a snapshot, and starts it. `snapshot`: id, name or name:tag.
  // Empty: the layers that it stands on now, so that all it changed is gone.
  virtual Task<Sandbox> rollback(Principal who, std::string ref, std::string snapshot) = 0;
  // Removes many at once, each for itself. The result has the order of the request.
  virtual Task<std::vector<Removal>> remove_all(Principal who, RemovalQuery query) = 0;
};

}  // namespace cay::core
