#include "core/snapshots.h"

#include <algorithm>

#include "core/errors.h"
#include "core/validate.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostSnapshots = 1000;  // of one tenant
constexpr std::string_view kDefaultName = "default";

// "team/app:1.0" in its parts. Names have no colon.
struct NameAndTag {
  std::string name;
  std::string tag;  // empty: a bare name
};

NameAndTag parts_of(const std::string& ref) {
  const auto colon = ref.find(':');
  if (colon == std::string::npos) return {ref, {}};
  return {ref.substr(0, colon), ref.substr(colon + 1)};
}

bool has_tag(const SnapshotInfo& row, std::string_view tag) {
  return std::ranges::find(row.tags, tag) != row.tags.end();
}

// The import or build that makes this snapshot; null: none is under way.
std::shared_ptr<LongWork> work_for(const Imports& imports, const BuildsUnderWay& builds,
                                   const SnapshotId& id) {
  if (auto import = imports.of(id)) return import;
  return builds.of(id);
}

Error not_bootable(const std::string& ref, const SnapshotInfo& row) {
  std::string why = "snapshot '" + ref + "' is " + row.status;
  if (!row.status_message.empty()) why += ": " + row.status_message;
  return {Code::kNotReady, "snapshot_not_ready", std::move(why), 0};
}

Result<void> check_snapshot_name(const std::string& name) {
  if (!is_valid_snapshot_name(name)) {
    return invalid("invalid_name",
                   "a snapshot's name has 1 to 128 letters, digits, '.', '_', '-' or '/', and "
                   "begins and ends with a letter or digit");
  }
  if (is_uuid(name) || name == kDefaultName)
    return invalid("invalid_name",
                   "a snapshot's name is no id, and not 'default', which the host gives its own");
  return {};
}

// The name that an archive has in it, as a pull of that image would give it.
Result<std::string> name_in(const ImageFacts& facts) {
  const auto named = image_reference_from(facts.name);
  if (!named) {
    return invalid("invalid_name",
                   "the archive has no name in it: name the snapshot, as `cay snapshot import FILE "
                   "--name NAME` does");
  }
  std::string name = named->snapshot_name();
  if (check_snapshot_name(name)) return name;
  return invalid("invalid_name", "the archive's name '" + name.substr(0, 200) +
                                     "' is none that a snapshot can have: name the snapshot, as "
                                     "`cay snapshot import FILE --name NAME` does");
}

// An archive may have the name in it: made.name is empty until it was read.
Result<void> check_new(const NewSnapshot& made, std::string_view origin, const Defaults& defaults) {
  if (origin != kFromArchive || !made.name.empty()) {
    CAY_CHECK(check_snapshot_name(made.name));
  }
  if (!made.tag.empty() && !is_valid_tag(made.tag)) {
    return invalid("invalid_tag",
                   "a tag has 1 to 128 letters, digits, '.', '_' or '-', and begins with a "
                   "letter, a digit or '_'");
  }
  CAY_CHECK(check(made.run));
  if (made.config) {
    CAY_CHECK(check(made.config->run));
  }
  CAY_CHECK(check_labels(made.labels));
  const std::uint64_t most = defaults.maximum.disk_bytes;
  if (made.disk_bytes != 0 &&
      (made.disk_bytes < kLeastLimits.disk_bytes || made.disk_bytes > most)) {
    return invalid("invalid_limits",
                   "disk_bytes is " + std::to_string(made.disk_bytes) + ": this host takes " +
                       std::to_string(kLeastLimits.disk_bytes) + " to " + std::to_string(most));
  }
  return {};
}

}  // namespace

Result<std::vector<SnapshotInfo>> SnapshotVerbs::visible(const TenantId& tenant) const {
  CAY_TRY(auto all, registry_->store().snapshots().all());
  layers_.measure(all);  // also by those that this tenant does not see: they share layers
  std::erase_if(all, [&](const SnapshotInfo& row) {
    return !row.tenant.get().empty() && row.tenant != tenant;
  });
  // The tenant's own first, and of each the newest.
  std::ranges::sort(all, [](const SnapshotInfo& a, const SnapshotInfo& b) {
    return std::tuple(a.tenant.get().empty(), -a.created_at, a.id) <
           std::tuple(b.tenant.get().empty(), -b.created_at, b.id);
  });
  return all;
}

SnapshotInfo SnapshotVerbs::shown(SnapshotInfo row) const {
  const auto work = work_for(imports_, builds_, row.id);
  if (work && row.status == kSnapshotBuilding) row.status_message = work->progress;
  return row;
}

Task<std::vector<SnapshotInfo>> SnapshotVerbs::list(Principal who) {
  CAY_CO_TRY(auto all, visible(who.tenant));
  for (SnapshotInfo& row : all) row = shown(std::move(row));
  // The one that the name means comes first.
  const auto meant = std::ranges::find(all, default_.id, &SnapshotInfo::id);
  if (meant != all.end()) std::rotate(all.begin(), meant, meant + 1);
  co_return all;
}

Result<SnapshotInfo> SnapshotVerbs::look_up(const TenantId& tenant, const std::string& ref,
                                            Want want) const {
  CAY_TRY(const auto all, visible(tenant));
  const NameAndTag wanted = parts_of(ref.empty() ? std::string(kDefaultName) : ref);
  const bool is_default =
      wanted.name == kDefaultName && (wanted.tag.empty() || wanted.tag == kLatestTag);
  const std::string tag = wanted.tag.empty() ? std::string(kLatestTag) : wanted.tag;
  if (is_default && default_.missing) return *default_.missing;
  const SnapshotInfo* tagged = nullptr;
  const SnapshotInfo* newest = nullptr;  // ready, without a tag
  const SnapshotInfo* unfit = nullptr;
  for (const SnapshotInfo& row : all) {
    const bool is_id = row.id.get() == ref || (is_default && row.id == default_.id);
    if (is_id && (want == Want::kAny || row.status == kSnapshotReady)) return row;
    if (is_id) return not_bootable(ref, row);
    if (is_default || row.name != wanted.name) continue;
    if (tagged == nullptr && has_tag(row, tag)) tagged = &row;
    if (!wanted.tag.empty()) continue;
    if (row.status != kSnapshotReady) {
      if (unfit == nullptr) unfit = &row;
    } else if (newest == nullptr && row.tags.empty()) {
      newest = &row;
    }
  }
  const SnapshotInfo* const found = tagged != nullptr ? tagged : newest;
  if (found != nullptr && (want == Want::kAny || found->status == kSnapshotReady)) return *found;
  if (found != nullptr) return not_bootable(ref, *found);
  if (unfit != nullptr && want == Want::kAny) return *unfit;
  if (unfit != nullptr) return not_bootable(ref, shown(*unfit));
  return snapshot_not_found(ref.empty() ? std::string(kDefaultName) : ref);
}

Result<SnapshotInfo> SnapshotVerbs::find(const TenantId& tenant, const std::string& ref) const {
  return look_up(tenant, ref, Want::kReady);
}

Task<SnapshotInfo> SnapshotVerbs::get(Principal who, std::string ref) {
  CAY_CO_TRY(auto row, look_up(who.tenant, ref, Want::kAny));
  co_return shown(std::move(row));
}

Task<SnapshotInfo> SnapshotVerbs::wait(Principal who, SnapshotId id,
                                       std::chrono::milliseconds most) {
  CAY_CO_TRY(auto row, look_up(who.tenant, id.get(), Want::kAny));
  const auto work = work_for(imports_, builds_, id);
  const auto capture = capturing_.find(id);
  if (work) {
    co_await work->done.wait_for(most);
  } else if (capture != capturing_.end()) {
    const auto over = capture->second;
    co_await over->wait_for(most);
  }
  CAY_CO_TRY(row, look_up(who.tenant, id.get(), Want::kAny));
  co_return shown(std::move(row));
}

Result<SnapshotInfo> SnapshotVerbs::begin_row(const Principal& who, const NewSnapshot& made,
                                              std::string_view origin) const {
  if (jobs_.closing) return shutting_down();
  if (jobs_.draining) return host_draining();
  CAY_CHECK(check_new(made, origin, defaults_));
  CAY_TRY(const auto all, registry_->store().snapshots().all());
  const auto own = std::ranges::count(all, who.tenant, &SnapshotInfo::tenant);
  if (static_cast<std::size_t>(own) >= kMostSnapshots) {
    return Error{Code::kExhausted, "too_many_snapshots",
                 "there are " + std::to_string(own) + " snapshots: delete some", 0};
  }
  SnapshotInfo row;
  row.id = SnapshotId(new_uuid());
  row.tenant = who.tenant;
  row.name = made.name;
  row.status = kSnapshotBuilding;
  row.origin = origin;
  row.disk_bytes = made.disk_bytes;
  row.created_by = who.key_name;
  row.created_at = registry_->clock().wall();
  row.updated_at = row.created_at;
  return row;
}

Task<SnapshotInfo> SnapshotVerbs::create_from_image(Principal who, NewSnapshot made,
                                                    ImageSource source) {
  CAY_CO_CHECK(imports_.images());
  CAY_CO_TRY(source, registries_.with_login(who.tenant, std::move(source)));
  const auto named = image_reference_from(source.reference);
  if (!named) {
    co_return invalid("bad_reference",
                      "'" + source.reference.substr(0, 200) +
                          "' is no image's reference: write NAME, NAME:TAG or NAME@sha256:DIGEST");
  }
  if (made.name.empty()) made.name = named->snapshot_name();
  if (made.tag.empty()) made.tag = named->tag;
  CAY_CO_TRY(SnapshotInfo row, begin_row(who, made, kFromRegistry));
  row.image_name = source.reference;
  row.registry = source.registry;
  PullRequest request;
  request.reference = std::move(source.reference);
  request.platform = std::move(source.platform);
  request.login = std::move(source.login);
  request.special_network = who.is_operator();
  request.owner = who.tenant.get();
  CAY_CO_CHECK(registry_->store().snapshots().put(row));
  imports_.pull(row, std::move(made), std::move(request));
  co_return shown(std::move(row));
}

Task<SnapshotInfo> SnapshotVerbs::create_from_archive(Principal who, NewSnapshot made,
                                                      std::unique_ptr<ByteSource> archive) {
  CAY_CO_TRY(Images* const images, imports_.images());
  CAY_CO_TRY(SnapshotInfo row, begin_row(who, made, kFromArchive));
  auto reading = images->read(within_room(std::move(archive), imports_.disk()), ArchiveKind::kAny,
                              who.tenant.get(), [](const std::string&) {});
  CAY_CO_TRY(auto image, co_await std::move(reading));
  if (made.name.empty()) {
    CAY_CO_TRY(made.name, name_in(image->facts()));
    row.name = made.name;
  }
  if (made.tag.empty()) made.tag = image->facts().tag;
  if (!is_valid_tag(made.tag)) made.tag.clear();
  row.image_name = image->facts().name;
  CAY_CO_CHECK(registry_->store().snapshots().put(row));
  imports_.unpack(row, std::move(made), std::move(image));
  co_return shown(std::move(row));
}

Task<SnapshotInfo> SnapshotVerbs::capture(Principal who, std::string sandbox, NewSnapshot made) {
  CAY_CO_TRY(auto entry, registry_->find_served(who, sandbox));
  CAY_CO_CHECK(layers_.layers_of(*entry));
  CAY_CO_TRY(SnapshotInfo row, begin_row(who, made, made.built ? kFromBuild : kFromSandbox));
  row.runtime = entry->row.runtime;
  row.source_sandbox = entry->row.id;
  ImageConfig config;
  if (made.config) {
    config = *made.config;
  } else {
    if (const auto source = look_up(who.tenant, entry->row.snapshot_id.get(), Want::kAny))
      config = source->config;
    config.run = layered(config.run, entry->row.run);
  }
  config.run = layered(config.run, made.run);
  for (const auto& [key, value] : made.labels) config.labels[key] = value;
  row.config = std::move(config);
  if (row.disk_bytes == 0) row.disk_bytes = entry->row.limits.disk_bytes;
  CAY_CO_CHECK(registry_->store().snapshots().put(row));
  capturing_[row.id] = std::make_shared<Event>(jobs_.loop());
  jobs_.spawn(capture_job(std::move(entry), row, std::move(made)));
  co_return row;
}

Task<void> SnapshotVerbs::capture_job(std::shared_ptr<Entry> entry, SnapshotInfo row,
                                      NewSnapshot made) {
  auto sealing = captures_.seal(std::move(entry));
  auto sealed = co_await std::move(sealing);
  row.updated_at = registry_->clock().wall();
  Result<void> written;
  // A removal of the snapshot took its event.
  const auto over = capturing_.extract(row.id);
  if (over && sealed) {
    row.layer = sealed->layer.id;
    row.status = kSnapshotReady;
    row.used_bytes = layers_.bytes_of(row.layer);
    written = registry_->store().snapshots().put_tagged(
        row, made.tag.empty() ? std::string(kLatestTag) : made.tag);
  } else if (over) {
    row.status = kSnapshotFailed;
    row.status_message = sealed.error().message;
    written = registry_->store().snapshots().put(row);
  }
  if (over) over.mapped()->set();
  if (sealed) sealed->hold.reset();
  layers_.collect();
  co_return written;
}

Result<SnapshotInfo> SnapshotVerbs::owned(const Principal& who, const std::string& ref) const {
  CAY_TRY(auto row, look_up(who.tenant, ref, Want::kAny));
  if (row.tenant.get().empty() && !who.is_operator()) {
    return Error{Code::kPermissionDenied, "host_snapshot",
                 "snapshot '" + ref + "' is the host's: its operator alone changes it", 0};
  }
  return row;
}

Task<void> SnapshotVerbs::remove(Principal who, std::string ref) {
  CAY_CO_TRY(const SnapshotInfo row, owned(who, ref));
  const bool is_another_runtimes = row.origin == kFromHost && row.runtime != kNativeRuntime;
  if (row.id == default_.id || is_another_runtimes) {
    co_return Error{Code::kConflict, "default_snapshot",
                    "snapshot '" + row.name + "' is what sandboxes start from if they name none",
                    0};
  }
  pushes_.forget(row.id);
  if (const auto work = work_for(imports_, builds_, row.id)) {
    work->give_up({Code::kCancelled, "snapshot_removed", "the snapshot was removed", 0});
    co_await work->done.wait();
  }
  CAY_CO_CHECK(registry_->store().snapshots().erase(row.id));
  if (const auto capture = capturing_.extract(row.id)) capture.mapped()->set();
  if (on_removed) on_removed();
  layers_.collect();
  co_return Result<void>();
}

Task<SnapshotInfo> SnapshotVerbs::tag(Principal who, std::string ref, std::string tag) {
  CAY_CO_TRY(const SnapshotInfo row, owned(who, ref));
  if (!is_valid_tag(tag))
    co_return invalid("invalid_tag",
                      "a tag has 1 to 128 letters, digits, '.', '_' or '-', and begins with a "
                      "letter, a digit or '_'");
  if (row.status != kSnapshotReady) co_return not_bootable(ref, row);
  CAY_CO_CHECK(registry_->store().snapshots().put_tagged(row, tag));
  co_return look_up(who.tenant, row.id.get(), Want::kAny);
}

Task<PushState> SnapshotVerbs::push(Principal who, std::string ref, std::string reference,
                                    RegistryLogin login) {
  CAY_CO_TRY(const SnapshotInfo row, find(who.tenant, ref));
  if (!image_reference_from(reference))
    co_return invalid("bad_reference", "'" + reference.substr(0, 200) +
                                           "' is no image's reference: write REGISTRY/NAME:TAG");
  PushRequest request;
  request.reference = std::move(reference);
  request.login = std::move(login);
  request.special_network = who.is_operator();
  CAY_CO_TRY(const auto push, pushes_.begin(row, std::move(request)));
  co_return Pushes::shown(*push);
}

Task<PushState> SnapshotVerbs::pushed(Principal who, std::string ref,
                                      std::chrono::milliseconds most) {
  CAY_CO_TRY(const SnapshotInfo row, look_up(who.tenant, ref, Want::kAny));
  const auto push = pushes_.of(row.id);
  if (!push) {
    co_return Error{Code::kNotFound, "push_not_found",
                    "snapshot '" + ref + "' was not pushed since the daemon started", 0};
  }
  co_await push->done.wait_for(most);
  co_return Pushes::shown(*push);
}

Task<SnapshotInfo> SnapshotVerbs::ensure_image(Principal who, std::string reference,
                                               Event::Deadline deadline) {
  const auto named = image_reference_from(reference);
  if (!named)
    co_return invalid("bad_reference",
                      "'" + reference.substr(0, 200) +
                          "' is no image's reference: write NAME, NAME:TAG or NAME@sha256:DIGEST");
  const std::string normal = named->text();
  const auto is_it = [&](const SnapshotInfo& row) {
    const auto of_row = image_reference_from(row.image_name);
    return row.origin == kFromRegistry && row.status == kSnapshotReady && of_row &&
           of_row->text() == normal;
  };
  CAY_CO_TRY(const auto all, visible(who.tenant));
  if (const auto found = std::ranges::find_if(all, is_it); found != all.end()) co_return *found;
  auto import = imports_.pulling(who.tenant, normal);
  if (!import) {
    ImageSource source;
    source.reference = reference;
    CAY_CO_TRY(const SnapshotInfo begun,
               co_await create_from_image(std::move(who), {}, std::move(source)));
    import = imports_.of(begun.id);
  }
  if (!import) co_return snapshot_not_found(reference);  // removed at once
  const bool over = co_await import->done.wait_until(deadline);
  if (!over) {
    co_return Error{Code::kDeadlineExceeded, "image_not_there_yet",
                    "the image " + reference + " is still being pulled (" + import->progress +
                        "), and the pull goes on: try again, or allow more time",
                    0};
  }
  if (import->failure) co_return *import->failure;
  co_return import->row;
}

Result<void> SnapshotVerbs::retire_old_defaults(const std::vector<SnapshotId>& current) {
  if (!layers_.layers()) return {};
  CAY_TRY(auto all, registry_->store().snapshots().all());
  for (SnapshotInfo& row : all) {
    const bool stays =
        row.origin != kFromHost || std::ranges::find(current, row.id) != current.end();
    const bool is_used = std::ranges::any_of(registry_->entries(), [&](const auto& entry) {
      return entry->row.snapshot_id == row.id || layer_of(entry->row) == row.layer;
    });
    if (stays || is_used || layers_.carries_another(row.layer) || row.runtime != kNativeRuntime)
      continue;
    row.status = kSnapshotDeleting;
    CAY_CHECK(registry_->store().snapshots().put(row));
  }
  return {};
}

}  // namespace cay::core
