#include "core/build_host.h"

#include <algorithm>

#include "core/base_images.h"
#include "core/build_errors.h"
#include "core/build_run.h"
#include "dockerfile/paths.h"
#include "dockerfile/text.h"

namespace cay::core {
namespace {

using dockerfile::MountType;
using dockerfile::Source;

constexpr std::string_view kContextMount = "/context";
// Nothing is mounted below /run. The directory itself lies in memory.
constexpr std::string_view kBindMount = "/.cay-build-bind-";

// The step's own line of the log.
std::string headline(const dockerfile::Instruction& instruction) {
  return "[line " + std::to_string(instruction.line) + "] " + dockerfile::shown(instruction.text);
}

}  // namespace

BuildJob::BuildJob(asio::any_io_executor loop, Principal by, SnapshotInfo first, NewSnapshot wanted,
                   BuildRequest asked, dockerfile::Build steps)
    : LongWork(loop),
      who(std::move(by)),
      row(std::move(first)),
      made(std::move(wanted)),
      request(std::move(asked)),
      build(std::move(steps)) {
  std::vector<std::string> values;
  for (const auto& [id, value] : request.secrets) values.push_back(value);
  log = std::make_shared<BuildOutput>(std::move(loop), std::move(values));
}

Task<dockerfile::Answer> BuildHost::carry_out(dockerfile::Request request) {
  namespace df = dockerfile;
  if (auto* one = std::get_if<df::ResolveImage>(&request)) {
    auto got = co_await resolve(std::move(*one));
    co_return got;
  }
  if (auto* one = std::get_if<df::RunCommand>(&request)) {
    auto got = co_await run(std::move(*one));
    co_return got;
  }
  if (auto* one = std::get_if<df::CopyFiles>(&request)) {
    auto got = co_await copy(std::move(*one));
    co_return got;
  }
  if (auto* one = std::get_if<df::SealLayer>(&request)) {
    auto got = co_await seal(std::move(*one));
    co_return got;
  }
  if (std::holds_alternative<df::DiscardSandbox>(request)) {
    auto got = co_await discard();
    co_return got;
  }
  if (auto* one = std::get_if<df::FindLayer>(&request)) co_return find(*one);
  if (auto* one = std::get_if<df::DigestContext>(&request)) {
    CAY_CO_TRY(auto digest, job_->context.digest(one->paths));
    co_return Answer(std::move(digest));
  }
  if (auto* one = std::get_if<df::StartSandbox>(&request)) {
    below_ = one->layer;
    pending_.clear();
    runs_commands_ = false;
  } else if (auto* make = std::get_if<df::MakeDirectory>(&request)) {
    // It needs no sandbox of its own: the next step's makes it.
    pending_.push_back(std::move(make->step));
  }
  co_return Answer();
}

std::string BuildHost::chain_of_key(const std::string& key) const {
  return "build:" + job_->who.tenant.get() + ":" + key;
}

Result<dockerfile::Answer> BuildHost::find(const dockerfile::FindLayer& request) {
  const auto* instruction = job_->build.current();
  const std::string line = instruction == nullptr ? std::string() : headline(*instruction);
  if (instruction != nullptr) job_->progress = dockerfile::shown(instruction->text);
  std::optional<LayerId> found;
  if (!job_->request.no_cache) found = parts_.layers.with_content(chain_of_key(request.key));
  job_->log->line(found ? line + " (from an earlier build)" : line);
  if (!found) return Answer(LayerId());
  job_->holds.push_back(parts_.layers.hold(*found));
  CAY_CHECK(parts_.layers.use(*found));
  return Answer(*found);
}

Task<dockerfile::Answer> BuildHost::resolve(dockerfile::ResolveImage request) {
  job_->log->line("FROM " + dockerfile::shown(request.reference));
  job_->progress = "fetching " + dockerfile::shown(request.reference);
  BaseImages images(parts_.snapshots, parts_.imports, parts_.registries, parts_.defaults);
  auto getting = images.get(job_->who, job_->request, request.reference, job_->confined_to);
  CAY_CO_TRY(const SnapshotInfo image, co_await std::move(getting));
  if (image.runtime != parts_.runtimes.first().name)
    co_return build_failed("the image " + dockerfile::shown(request.reference) +
                           " belongs to another runtime");
  job_->holds.push_back(parts_.layers.hold(image.layer));
  dockerfile::BaseImage out;
  out.layer = image.layer;
  out.digest = image.layer.get();  // a layer never changes
  out.config = image.config;
  co_return Answer(std::move(out));
}

std::shared_ptr<Builder> BuildHost::new_builder() {
  auto out = std::make_shared<Builder>(parts_.runtimes.first(), job_->who.tenant,
                                       parts_.defaults.maximum.disk_bytes);
  job_->builders.push_back(out);
  return out;
}

BuildCopy BuildHost::copier() const { return {parts_.images, parts_.registry->clock().wall()}; }

Task<void> BuildHost::make_pending() {
  auto making = copier();
  auto made = co_await making.make(std::exchange(pending_, {}), open_->live());
  co_return made;
}

Task<void> BuildHost::open_writer() {
  if (open_) co_return Result<void>();
  open_ = new_builder();
  CAY_CO_CHECK(co_await open_->boot(below_, {}));
  CAY_CO_CHECK(co_await make_pending());
  co_return Result<void>();
}

Task<BuildCopy::From> BuildHost::source(Source::Kind kind, LayerId layer) {
  BuildCopy::From out;
  out.root = "/";
  if (kind == Source::Kind::kContext) {
    out.context = &job_->context;
    out.root = kContextMount;
    if (!context_reader_ && !job_->context_layer.get().empty()) {
      DiskMount mount;
      mount.path = kContextMount;
      mount.layer = job_->context_layer;
      mount.read_only = true;
      std::vector<DiskMount> mounts{std::move(mount)};
      const auto reader = new_builder();
      CAY_CO_CHECK(co_await reader->boot({}, std::move(mounts)));
      context_reader_ = reader;
    }
    if (context_reader_) out.live = context_reader_->live();
    co_return out;
  }
  if (layer.get().empty()) co_return out;
  const auto reader = new_builder();
  CAY_CO_CHECK(co_await reader->boot(std::move(layer), {}));
  out.live = reader->live();
  co_return out;
}

Task<dockerfile::Answer> BuildHost::copy(dockerfile::CopyFiles request) {
  CAY_CO_CHECK(co_await open_writer());
  const Source::Kind kind = request.step.from.kind;
  CAY_CO_TRY(auto from, co_await source(kind, std::move(request.layer)));
  const auto reader =
      kind == Source::Kind::kContext || !from.live ? nullptr : job_->builders.back();
  auto copying = copier();
  auto copied = co_await copying.copy(std::move(request.step), std::move(from), open_->live());
  if (reader) {
    const auto gone = co_await reader->destroy();
    if (!gone) parts_.jobs.warn("a builder stays until the next start: " + gone.error().message);
  }
  if (!copied) co_return std::move(copied).error();
  co_return Answer();
}

// A directory of another tree is copied into a layer of its own: a sandbox mounts whole layers.
Task<void> BuildHost::add_bind(dockerfile::Mount mount, Source::Kind kind, LayerId layer,
                               std::size_t index, BootSpec& spec, BuildRun& running) {
  const std::string path = dockerfile::path_below_root(mount.source);
  DiskMount out;
  out.path = mount.target;
  out.read_only = true;
  if (kind == Source::Kind::kContext && path == "." && !job_->context_layer.get().empty()) {
    out.layer = job_->context_layer;
    spec.mounts.push_back(std::move(out));
    co_return Result<void>();
  }
  dockerfile::CopyStep step;
  step.from.kind = kind;
  step.paths = {path};
  step.target = "/";
  step.into_directory = true;
  CAY_CO_TRY(auto from, co_await source(kind, std::move(layer)));
  const auto reader =
      kind == Source::Kind::kContext || !from.live ? nullptr : job_->builders.back();
  const auto writer = new_builder();
  CAY_CO_CHECK(co_await writer->boot({}, {}));
  auto copying = copier();
  CAY_CO_CHECK(co_await copying.copy(std::move(step), std::move(from), writer->live()));
  CAY_CO_TRY(out.layer, co_await seal_as(writer, {}, {}));
  // A file lies alone in its layer, under its own name.
  const std::string name = path.substr(path.rfind('/') + 1);
  auto looking = writer->live()->stat("/" + name, FileAs{}, true);
  const auto file = co_await std::move(looking);
  for (const auto& done : {reader, writer}) {
    if (!done) continue;
    const auto gone = co_await done->destroy();
    if (!gone) parts_.jobs.warn("a builder stays until the next start: " + gone.error().message);
  }
  const bool is_file = path != "." && file && file->kind == FileKind::kFile;
  if (is_file) {
    out.path = std::string(kBindMount) + std::to_string(index);
    running.link(mount.target, out.path + "/" + name);
  }
  spec.mounts.push_back(std::move(out));
  co_return Result<void>();
}

Task<void> BuildHost::add_mounts(dockerfile::RunCommand request, BootSpec& spec,
                                 BuildRun& running) {
  for (std::size_t i = 0; i < request.step.mounts.size(); ++i) {
    const dockerfile::Mount& mount = request.step.mounts[i];
    if (mount.type != MountType::kBind) continue;
    const Source::Kind kind = request.step.sources[i].kind;
    CAY_CO_CHECK(co_await add_bind(mount, kind, request.layers[i], i, spec, running));
  }
  co_return Result<void>();
}

Task<dockerfile::Answer> BuildHost::run(dockerfile::RunCommand request) {
  BuildRun running(job_, request.step);
  CAY_CO_TRY(BootSpec spec, running.spec(below_));
  std::map<std::string, BuildCaches::Held> caches;
  std::vector<dockerfile::Mount> cached;
  for (const auto& mount : request.step.mounts) {
    if (mount.type == MountType::kCache) cached.push_back(mount);
  }
  // In one order, so that two builds never wait for each other.
  std::ranges::sort(cached, {}, &dockerfile::Mount::id);
  for (const auto& mount : cached) {
    if (!mount.from.empty())
      co_return not_built("RUN --mount=type=cache,from=… is not supported: copy the files by RUN");
    if (!caches.contains(mount.id)) {
      auto taking = parts_.caches.take(job_->who.tenant, mount.id);
      CAY_CO_TRY(auto held, co_await std::move(taking));
      caches.emplace(mount.id, std::move(held));
    }
    DiskMount out;
    out.path = mount.target;
    out.volume = caches.at(mount.id).volume;
    out.read_only = mount.read_only;
    spec.mounts.push_back(std::move(out));
  }
  CAY_CO_CHECK(co_await add_mounts(request, spec, running));
  open_ = new_builder();
  runs_commands_ = true;
  CAY_CO_CHECK(co_await open_->boot(std::move(spec)));
  CAY_CO_CHECK(co_await make_pending());
  for (const auto& mount : cached) {
    if (mount.uid || mount.gid || mount.mode) {
      CAY_CO_CHECK(co_await running.own(mount, open_->live()));
    }
  }
  CAY_CO_CHECK(co_await running.run(open_->live()));
  co_return Answer(0);
}

Task<LayerId> BuildHost::seal_as(std::shared_ptr<Builder> from, LayerId below, std::string chain) {
  CAY_CO_TRY(Layers* const role, parts_.layers.layers());
  const LayerId id(new_uuid());
  job_->holds.push_back(parts_.layers.hold(id));
  auto sealing = role->seal(from->id(), id);
  auto sealed = co_await std::move(sealing);
  if (!sealed) co_return std::move(sealed).error().while_doing("seal the layer");
  LayerRow row;
  row.id = id;
  row.below = std::move(below);
  row.chain = std::move(chain);
  row.bytes = sealed->bytes;
  row.created_at = parts_.registry->clock().wall();
  const bool is_kept = !row.chain.empty();
  CAY_CO_CHECK(parts_.layers.put(std::move(row)));
  if (is_kept) {
    CAY_CO_CHECK(parts_.layers.use(id));
  }
  co_return id;
}

Task<dockerfile::Answer> BuildHost::seal(dockerfile::SealLayer request) {
  CAY_CO_CHECK(co_await open_writer());
  if (runs_commands_) {
    // A program that the step left behind does not write into the layer while it is sealed.
    auto pausing = open_->live()->pause();
    const auto paused = co_await std::move(pausing);
    if (!paused && paused.error().code != Code::kUnsupported) co_return paused.error();
  }
  CAY_CO_TRY(LayerId id, co_await seal_as(open_, below_, chain_of_key(request.key)));
  co_return Answer(std::move(id));
}

Task<dockerfile::Answer> BuildHost::discard() {
  pending_.clear();
  if (const auto gone = std::exchange(open_, nullptr)) {
    const auto done = co_await gone->destroy();
    if (!done) parts_.jobs.warn("a builder stays until the next start: " + done.error().message);
  }
  co_return Answer();
}

Task<LayerId> BuildHost::layer_of(std::unique_ptr<LayerSource> entries) {
  const auto writer = new_builder();
  CAY_CO_CHECK(co_await writer->boot({}, {}));
  auto writing = writer->live()->write_layer(std::move(entries));
  CAY_CO_CHECK(co_await std::move(writing));
  CAY_CO_TRY(LayerId id, co_await seal_as(writer, {}, {}));
  const auto gone = co_await writer->destroy();
  if (!gone) parts_.jobs.warn("a builder stays until the next start: " + gone.error().message);
  co_return std::move(id);
}

Task<LayerId> BuildHost::empty_layer() {
  auto making = layer_of(copied_layer({}));
  auto made = co_await std::move(making);
  co_return made;
}

}  // namespace cay::core
