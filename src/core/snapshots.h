// SnapshotVerbs: core::Snapshots over the store, and which of them a name means.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/builds_under_way.h"
#include "core/captures.h"
#include "core/image_registries.h"
#include "core/imports.h"
#include "core/layer_tree.h"
#include "core/pushes.h"
#include "core/registry.h"
#include "core/settings.h"
#include "core/verbs/snapshots.h"

namespace cay::core {

// The snapshot that `default` means.
struct DefaultChoice {
  SnapshotId id{};
  std::optional<Error> missing{};  // why there is none yet
};

// The parts that Core sets before the first request, and later.
class SnapshotParts : public Snapshots {
 public:
  // The newest snapshot of the name `default` may be of earlier settings.
  void use_default(DefaultChoice choice) { default_ = std::move(choice); }
  // Called when a snapshot is removed; may be absent.
  std::function<void()> on_removed;
  void use_contents(Contents& contents) { contents_ = &contents; }
  Contents& contents() override { return *contents_; }

 protected:
  DefaultChoice default_{};

 private:
  Contents* contents_ = nullptr;
};

class SnapshotVerbs : public SnapshotParts {
 public:
  SnapshotVerbs(std::shared_ptr<Registry> registry, LayerTree& layers, Imports& imports,
                const BuildsUnderWay& builds, Captures& captures, Pushes& pushes,
                const ImageRegistryVerbs& registries, Jobs& jobs, const Defaults& defaults)
      : registry_(std::move(registry)),
        layers_(layers),
        imports_(imports),
        builds_(builds),
        captures_(captures),
        pushes_(pushes),
        registries_(registries),
        jobs_(jobs),
        defaults_(defaults) {}

  // Begins to delete the host's snapshots that nothing stands on, but for `current`.
  Result<void> retire_old_defaults(const std::vector<SnapshotId>& current);

  Task<std::vector<SnapshotInfo>> list(Principal who) override;
  Task<SnapshotInfo> get(Principal who, std::string ref) override;
  Task<SnapshotInfo> wait(Principal who, SnapshotId id, std::chrono::milliseconds most) override;
  Task<SnapshotInfo> create_from_image(Principal who, NewSnapshot made,
                                       ImageSource source) override;
  Task<SnapshotInfo> create_from_archive(Principal who, NewSnapshot made,
                                         std::unique_ptr<ByteSource> archive) override;
  Task<SnapshotInfo> capture(Principal who, std::string sandbox, NewSnapshot made) override;
  Task<void> remove(Principal who, std::string ref) override;
  Task<SnapshotInfo> tag(Principal who, std::string ref, std::string tag) override;
  Task<PushState> push(Principal who, std::string ref, std::string reference,
                       RegistryLogin login) override;
  Task<PushState> pushed(Principal who, std::string ref, std::chrono::milliseconds most) override;

  // Returns the ready snapshot that a sandbox of this tenant can boot; empty: `default`. Fails
  // kNotFound (snapshot_not_found), kNotReady (snapshot_not_ready).
  Result<SnapshotInfo> find(const TenantId& tenant, const std::string& ref) const;
  // Returns the ready snapshot of this image, which is pulled if there is none. Fails as the pull,
  // and kDeadlineExceeded (image_not_there_yet): the pull goes on.
  Task<SnapshotInfo> ensure_image(Principal who, std::string reference, Event::Deadline deadline);
  // Returns a new row, which is `building` and not stored yet. Fails as creations of snapshots.
  Result<SnapshotInfo> begin_row(const Principal& who, const NewSnapshot& made,
                                 std::string_view origin) const;

 private:
  enum class Want { kReady, kAny };
  Result<SnapshotInfo> look_up(const TenantId& tenant, const std::string& ref, Want want) const;
  Result<std::vector<SnapshotInfo>> visible(const TenantId& tenant) const;
  SnapshotInfo shown(SnapshotInfo row) const;
  Task<void> capture_job(std::shared_ptr<Entry> entry, SnapshotInfo row, NewSnapshot made);
  Result<SnapshotInfo> owned(const Principal& who, const std::string& ref) const;

  std::shared_ptr<Registry> registry_;
  LayerTree& layers_;
  Imports& imports_;
  const BuildsUnderWay& builds_;
  Captures& captures_;
  Pushes& pushes_;
  const ImageRegistryVerbs& registries_;
  Jobs& jobs_;
  const Defaults& defaults_;
  std::map<SnapshotId, std::shared_ptr<Event>> capturing_;
};

}  // namespace cay::core
