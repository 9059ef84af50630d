#include "core/imports.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/stacked_layers.h"
#include "core/errors.h"
#include "core/validate.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostConfigBytes = 256 * 1024;

// OCI image specification, "Layer ChainID".
std::string chain_of(const std::string& below, const std::string& diff_id) {
  return below.empty() ? diff_id : "sha256:" + sha256_hex(below + " " + diff_id);
}

// The chain by which a tenant's imports find the layer. A digest is no secret. So it does not lead
// to a layer of another tenant, whose bytes the caller may never have had.
std::string chain_in(const TenantId& tenant, const std::string& chain) {
  return "image:" + tenant.get() + ":" + chain;
}

// Core believes nothing that an image contains.
Result<void> check_config(const ImageConfig& config) {
  if (auto run = core::check(config.run); !run)
    return Error{Code::kInvalidArgument, "bad_image",
                 "the image's configuration: " + run.error().message, 0};
  std::size_t total = 0;
  for (const auto* words : {&config.entrypoint, &config.command, &config.ports}) {
    for (const auto& word : *words) total += word.size() + 1;
  }
  for (const auto& [key, value] : config.labels) total += key.size() + value.size();
  if (total <= kMostConfigBytes) return {};
  return Error{Code::kInvalidArgument, "bad_image",
               "the image's configuration has " + std::to_string(total) +
                   " bytes of words and labels: at most " + std::to_string(kMostConfigBytes) +
                   " are kept",
               0};
}

ImageConfig config_of(const ImageConfig& of_image, const NewSnapshot& made) {
  ImageConfig out = made.config.value_or(of_image);
  out.run = layered(out.run, made.run);
  for (const auto& [key, value] : made.labels) out.labels[key] = value;
  return out;
}

}  // namespace

Result<Images*> Imports::images() const {
  if (images_ == nullptr) {
    return Error{Code::kUnsupported, "images_unsupported",
                 "this daemon runs without the process that fetches images: run cay doctor, which "
                 "names what is missing",
                 0};
  }
  CAY_CHECK(layers_.layers());
  return images_;
}

std::shared_ptr<Import> Imports::begin(SnapshotInfo row, NewSnapshot made) {
  auto import = std::make_shared<Import>(jobs_.loop(), std::move(row), std::move(made));
  under_way_[import->row.id] = import;
  return import;
}

std::shared_ptr<Import> Imports::pull(SnapshotInfo row, NewSnapshot made, PullRequest request) {
  auto import = begin(std::move(row), std::move(made));
  jobs_.spawn(job(import, std::move(request), nullptr));
  return import;
}

std::shared_ptr<Import> Imports::unpack(SnapshotInfo row, NewSnapshot made,
                                        std::unique_ptr<OpenImage> image) {
  auto import = begin(std::move(row), std::move(made));
  jobs_.spawn(job(import, {}, std::shared_ptr<OpenImage>(std::move(image))));
  return import;
}

std::shared_ptr<Import> Imports::of(const SnapshotId& id) const {
  const auto found = under_way_.find(id);
  return found == under_way_.end() ? nullptr : found->second;
}

std::shared_ptr<Import> Imports::pulling(const TenantId& tenant,
                                         const std::string& reference) const {
  for (const auto& [id, import] : under_way_) {
    const auto named = image_reference_from(import->row.image_name);
    if (import->row.tenant == tenant && named && named->text() == reference && !import->cancelled)
      return import;
  }
  return nullptr;
}

void Imports::stop() {
  const auto all = under_way_;
  for (const auto& [id, import] : all) import->give_up(shutting_down());
}

// Its clean-up is not cancelled.
Task<void> Imports::job(std::shared_ptr<Import> import, PullRequest request,
                        std::shared_ptr<OpenImage> image) {
  auto work = attempt(import, std::move(request), std::move(image));
  auto top = co_await run_until_given_up<LayerId>(jobs_.loop(), import, std::move(work));
  if (import->builder) {
    const auto gone = co_await import->builder->destroy();
    if (!gone) jobs_.warn("a builder stays until the next start: " + gone.error().message);
  }
  import->builder.reset();
  settle(*import, std::move(top));
  import->holds.clear();
  under_way_.erase(import->row.id);
  import->done.set();
  if (import->failure) layers_.collect();
  co_return Result<void>();
}

void Imports::settle(Import& import, Result<LayerId> top) {
  if (!top) import.failure = top.error();
  if (!top && top.error().reason == kShuttingDown) return;
  SnapshotInfo& row = import.row;
  row.updated_at = registry_->clock().wall();
  row.status = top ? kSnapshotReady : kSnapshotFailed;
  row.status_message = top ? import.note : top.error().message;
  Result<void> written;
  if (top) {
    row.layer = *top;
    row.used_bytes = layers_.bytes_of(*top);
    const std::string tag = import.made.tag.empty() ? std::string(kLatestTag) : import.made.tag;
    written = registry_->store().snapshots().put_tagged(row, tag);
  } else {
    written = registry_->store().snapshots().put(row);
  }
  if (written) return;
  jobs_.warn("snapshot " + row.name + " is not on record: " + written.error().message);
  if (!import.failure) import.failure = std::move(written).error();
}

Task<LayerId> Imports::attempt(std::shared_ptr<Import> import, PullRequest request,
                               std::shared_ptr<OpenImage> image) {
  if (!image) {
    import->progress = "fetching " + request.reference;
    Told told = [weak = std::weak_ptr<Import>(import)](std::string line) {
      if (const auto there = weak.lock()) there->progress = std::move(line);
    };
    auto pulling = images_->pull(std::move(request), std::move(told));
    CAY_CO_TRY(auto fetched, co_await std::move(pulling));
    image = std::move(fetched);
  }
  const ImageFacts& facts = image->facts();
  if (facts.layers.empty() || facts.layers.size() > kMostStackedLayers) {
    co_return Error{Code::kInvalidArgument, "bad_image",
                    "the image has " + std::to_string(facts.layers.size()) + " layers: 1 to " +
                        std::to_string(kMostStackedLayers) + " can be stacked",
                    0};
  }
  CAY_CO_CHECK(check_config(facts.config));
  import->row.config = config_of(facts.config, import->made);
  import->row.digest = facts.digest;
  std::string chain;
  LayerId top;
  for (std::size_t index = 0; index < facts.layers.size(); ++index) {
    chain = chain_of(chain, facts.layers[index].diff_id);
    CAY_CO_TRY(top, co_await layer(import, image, index, chain, top));
    import->holds.push_back(layers_.hold(top));
  }
  import->note = image->note();
  co_return top;
}

// Returns the layer of this content, of the tenant or of the host. Another import of the tenant
// that makes it now is waited for.
Task<LayerId> Imports::layer(std::shared_ptr<Import> import, std::shared_ptr<OpenImage> image,
                             std::size_t index, std::string chain, LayerId below) {
  const std::string of_host = chain_in({}, chain);
  chain = chain_in(import->row.tenant, chain);
  for (;;) {
    if (const auto found = layers_.with_content(chain)) co_return *found;
    if (const auto found = layers_.with_content(of_host)) co_return *found;
    const auto other = building_->find(chain);
    if (other == building_->end()) break;
    const auto over = other->second;
    import->progress = "waiting for another pull of the same layer";
    co_await over->wait();
  }
  auto made = co_await build(std::move(import), std::move(image), index, std::move(chain),
                             std::move(below));
  co_return made;
}

Task<LayerId> Imports::build(std::shared_ptr<Import> import, std::shared_ptr<OpenImage> image,
                             std::size_t index, std::string chain, LayerId below) {
  const auto over = std::make_shared<Event>(jobs_.loop());
  (*building_)[chain] = over;
  const Grant announced([all = building_, chain, over] {
    all->erase(chain);
    over->set();
  });
  const auto& facts = image->facts();
  import->progress =
      "unpacking layer " + std::to_string(index + 1) + " of " + std::to_string(facts.layers.size());
  const auto builder = std::make_shared<Builder>(runtimes_.first(), import->row.tenant,
                                                 defaults_.maximum.disk_bytes);
  import->builder = builder;
  CAY_CO_CHECK(co_await builder->boot(below, {}));
  CAY_CO_TRY(auto entries, co_await image->layer(index));
  CAY_CO_CHECK(co_await builder->live()->write_layer(std::move(entries)));
  CAY_CO_TRY(Layers* const role, layers_.layers());
  auto sealing = role->seal(builder->id(), LayerId(new_uuid()));
  CAY_CO_TRY(const Layer sealed, co_await std::move(sealing));
  LayerRow row;
  row.id = sealed.id;
  row.below = std::move(below);
  row.chain = std::move(chain);
  row.bytes = sealed.bytes;
  row.created_at = registry_->clock().wall();
  const auto hold = layers_.hold(row.id);
  CAY_CO_CHECK(layers_.put(row));
  const auto gone = co_await builder->destroy();
  if (!gone) jobs_.warn("a builder stays until the next start: " + gone.error().message);
  import->builder.reset();
  co_return row.id;
}

}  // namespace cay::core
