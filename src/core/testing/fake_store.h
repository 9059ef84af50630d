// FakeStore: the store port in memory, with the rules of the real one, and a faulty mood.
//
// A class for each port that it implements, each on top of the one before. Tests use FakeStore.
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "core/ports/store.h"

namespace cay::core::testing {

// FakeTables: the rows, and whether they can be written and read.
class FakeTables : public Store {
 public:
  // While set, every writing call fails with it (a full disk, a broken file).
  std::optional<Error> write_error;
  // While set, every reading call fails with it.
  std::optional<Error> read_error;
  // So many writes succeed before write_error counts.
  int writes_before_error = 0;

  std::map<SandboxId, Sandbox> rows;
  std::map<SandboxId, UsageRow> usage;
  std::vector<UsageRow> retired;
  std::map<LinkId, Link> link_rows;
  std::map<std::pair<TenantId, std::string>, StoredSecret> secret_rows;
  std::vector<EventRecord> journal;                  // of all tenants, in order
  std::map<TenantId, std::uint64_t> pruned_through;  // tests set it; the fake prunes nothing itself
  std::map<SnapshotId, SnapshotInfo> snapshot_rows;  // without their tags
  struct Tag {
    TenantId tenant;
    std::string name, tag;
    auto operator<=>(const Tag&) const = default;
  };
  std::map<Tag, SnapshotId> tag_rows;
  std::map<LayerId, LayerRow> layer_rows;
  std::map<VolumeId, Volume> volume_rows;
  std::map<RegistryId, StoredImageRegistry> registry_rows;
  std::map<std::string, std::string> meta;

  Result<void> writable();
  Result<void> readable() const;
};

class FakeSnapshotStore : public SnapshotStore {
 public:
  explicit FakeSnapshotStore(FakeTables& tables) : tables_(tables) {}

  Result<void> put(const SnapshotInfo& snapshot) override;
  Result<void> put_tagged(const SnapshotInfo& snapshot, const std::string& tag) override;
  Result<void> erase(const SnapshotId& id) override;
  Result<std::vector<SnapshotInfo>> all() override;
  Result<void> put_layer(const LayerRow& layer) override;
  Result<void> erase_layer(const LayerId& id) override;
  Result<std::vector<LayerRow>> layers() override;

 private:
  FakeTables& tables_;
};

class FakeVolumeStore : public VolumeStore {
 public:
  explicit FakeVolumeStore(FakeTables& tables) : tables_(tables) {}

  Result<void> put(const Volume& volume) override;
  Result<void> erase(const VolumeId& id) override;
  Result<std::vector<Volume>> all() override;

 private:
  FakeTables& tables_;
};

class FakeImageRegistryStore : public ImageRegistryStore {
 public:
  explicit FakeImageRegistryStore(FakeTables& tables) : tables_(tables) {}

  Result<void> put(const StoredImageRegistry& registry) override;
  Result<void> erase(const RegistryId& id) override;
  Result<std::vector<StoredImageRegistry>> of(const TenantId& tenant) override;

 private:
  FakeTables& tables_;
};

class FakeJournal : public FakeTables {
 public:
  void note_event(EventRecord event) override;
  Result<void> flush_events() override;
  Result<EventPage> events(const TenantId& tenant, const EventQuery& query) override;
  Result<std::vector<OpenCommand>> open_commands() override;
  Result<bool> knows_command(const TenantId& tenant, const SandboxId& sandbox,
                             const CommandId& command, UnixMillis started_at) override;
  Result<std::map<SandboxId, NoteMark>> note_marks() override;
  Result<UnixMillis> newest_event() override;
  void on_events(std::function<void()> called) override { on_events_ = std::move(called); }

  // "sandbox.created box", "command.ended box c1 exited" …: for comparing in one line.
  std::vector<std::string> told() const;
  // Drops what was not written, as a kill of the daemon does.
  void lose_held() { held_.clear(); }

 protected:
  void tell(EventRecord event);

 private:
  std::vector<EventRecord> held_;
  std::function<void()> on_events_;
};

class FakeUsageStore : public FakeJournal {
 public:
  Result<void> put_usage(const std::vector<UsageRow>& usage) override;
  Result<std::vector<UsageRow>> usage_rows() override;
  Result<void> retire_usage(const SandboxId& sandbox) override;
  Result<UsageReport> retired_usage(const TenantId& tenant, const UsageQuery& query) override;
};

class FakeLinkStore : public FakeUsageStore {
 public:
  Result<void> put_link(const Link& link) override;
  Result<void> erase_links(const std::vector<LinkId>& ids) override;
  Result<std::vector<Link>> links() override;
};

class FakeSecretStore : public FakeLinkStore {
 public:
  Result<void> put_secret(const StoredSecret& secret) override;
  Result<void> erase_secret(const TenantId& tenant, const std::string& name) override;
  Result<std::vector<StoredSecret>> secrets() override;
};

// FakeStore: the sandboxes, the snapshots and the small facts.
class FakeStore : public FakeSecretStore {
 public:
  using Store::erase;
  using Store::update;
  Result<void> insert(const Sandbox& sandbox) override;
  Result<void> update(const Sandbox& sandbox, const std::string& by) override;
  Result<void> erase(const SandboxId& id, const std::string& by) override;
  Result<std::optional<Sandbox>> by_id(const TenantId& tenant, const SandboxId& id) override;
  Result<std::optional<Sandbox>> by_name(const TenantId& tenant, const std::string& name) override;
  Result<SandboxPage> list(const TenantId& tenant, const SandboxQuery& query) override;
  Result<std::vector<Sandbox>> all() override;
  SnapshotStore& snapshots() override { return snapshots_; }
  VolumeStore& volumes() override { return volumes_; }
  ImageRegistryStore& image_registries() override { return registries_; }
  Result<std::optional<std::string>> get_meta(const std::string& key) override;
  Result<void> put_meta(const std::string& key, const std::string& value) override;
  Result<void> check() override { return writable(); }
  std::uint64_t failures() const override { return 0; }

 private:
  Result<void> check_unique(const Sandbox& sandbox) const;

  FakeSnapshotStore snapshots_{*this};
  FakeVolumeStore volumes_{*this};
  FakeImageRegistryStore registries_{*this};
};

}  // namespace cay::core::testing
