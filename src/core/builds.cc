#include "core/builds.h"

#include <algorithm>

#include "async/bytes.h"
#include "base/wiped_memory.h"
#include "core/build_errors.h"
#include "core/errors.h"
#include "core/validate.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostLogs = 50;
constexpr std::size_t kMostIgnoreBytes = std::size_t{1} << 20;
constexpr std::size_t kMostMessage = 4096;

#if defined(__aarch64__)
constexpr std::string_view kOwnPlatform = "linux/arm64";
#else
constexpr std::string_view kOwnPlatform = "linux/amd64";
#endif

Result<dockerfile::Build> planned(const BuildRequest& request) {
  if (!request.platform.empty() && request.platform != kOwnPlatform) {
    return not_built("builds for " + request.platform.substr(0, 60) +
                     " are not supported: this is " + std::string(kOwnPlatform) +
                     ", and Cay emulates no other");
  }
  CAY_TRY(auto file, dockerfile::parse(request.dockerfile));
  dockerfile::BuildOptions options;
  options.target = request.target;
  options.platform = kOwnPlatform;
  for (const auto& [name, value] : request.arguments) options.arguments[name] = value;
  return dockerfile::Build::create(std::move(file), std::move(options));
}

ImageConfig config_with(ImageConfig config, const NewSnapshot& made) {
  if (made.config) config = *made.config;
  config.run = layered(config.run, made.run);
  for (const auto& [key, value] : made.labels) config.labels[key] = value;
  return config;
}

// The context's .dockerignore, if it has one.
Task<std::optional<dockerfile::IgnoreList>> ignored_in(std::shared_ptr<LiveSandbox> live,
                                                       std::string directory) {
  auto opening = live->read(directory + "/.dockerignore", FileAs{}, ReadRange{});
  auto file = co_await std::move(opening);
  if (!file && file.error().code == Code::kNotFound)
    co_return std::optional<dockerfile::IgnoreList>();
  if (!file) co_return std::move(file).error();
  auto reading = read_all(std::move(file->bytes), kMostIgnoreBytes);
  CAY_CO_TRY(const Bytes text, co_await std::move(reading));
  CAY_CO_TRY(auto list, dockerfile::IgnoreList::parse(text));
  co_return std::optional<dockerfile::IgnoreList>(std::move(list));
}

}  // namespace

Result<std::shared_ptr<BuildJob>> BuildVerbs::new_job(Principal who, NewSnapshot made,
                                                      BuildRequest request) {
  CAY_CHECK(parts_.layers.layers());
  CAY_TRY(auto build, planned(request));
  SandboxSpec asked;
  asked.policy = request.policy;
  CAY_TRY(SandboxSpec run, checked(std::move(asked), parts_.defaults));
  CAY_TRY(SnapshotInfo row, parts_.snapshots.begin_row(who, made, kFromBuild));
  const bool names_policy = !request.policy.empty();
  auto job = std::make_shared<BuildJob>(parts_.jobs.loop(), std::move(who), std::move(row),
                                        std::move(made), std::move(request), std::move(build));
  job->run = std::move(run);
  job->network_required = names_policy;
  return job;
}

Task<SnapshotInfo> BuildVerbs::build(Principal who, NewSnapshot made, BuildRequest request,
                                     std::unique_ptr<ByteSource> context) {
  CAY_CO_TRY(const auto job, new_job(std::move(who), std::move(made), std::move(request)));
  ContextSource source;
  if (context) {
    CAY_CO_TRY(Images* const images, parts_.imports.images());
    auto reading = images->read(within_room(std::move(context), parts_.imports.disk()),
                                ArchiveKind::kRoot, {}, [](const std::string&) {});
    CAY_CO_TRY(source.archive, co_await std::move(reading));
  }
  co_return begin(job, std::move(source));
}

Task<SnapshotInfo> BuildVerbs::build_from_sandbox(Principal who, std::string sandbox,
                                                  std::string directory, NewSnapshot made,
                                                  BuildRequest request) {
  CAY_CO_TRY(const auto entry, parts_.registry->find_served(who, sandbox));
  CAY_CO_CHECK(check_path(directory));
  if (!entry->live) co_return not_ready(entry->row.name, start_it(entry->row.name));
  request.policy.clear();
  CAY_CO_TRY(const auto job, new_job(std::move(who), std::move(made), std::move(request)));
  job->run.policy = entry->row.policy;
  job->run.rules = entry->row.rules;
  job->confined_to = policy::Choice{entry->row.policy, entry->row.rules};
  job->row.source_sandbox = entry->row.id;
  ContextSource source;
  source.sandbox = entry->live;
  source.directory = directory;
  auto looking = ignored_in(source.sandbox, std::move(directory));
  CAY_CO_TRY(source.ignored, co_await std::move(looking));
  co_return begin(job, std::move(source));
}

Result<SnapshotInfo> BuildVerbs::begin(const std::shared_ptr<BuildJob>& job,
                                       ContextSource context) {
  if (parts_.jobs.closing) return shutting_down();
  CAY_CHECK(parts_.registry->store().snapshots().put(job->row));
  job->progress = "reading the context";
  SnapshotInfo out = job->row;
  out.status_message = job->progress;
  under_way_.add(job->row.id, job);
  keep_log(*job);
  parts_.jobs.spawn(run_job(job, std::move(context)));
  return out;
}

// The logs of builds that are over go first to last.
void BuildVerbs::keep_log(const BuildJob& job) {
  logs_[job.row.id] = job.log;
  log_order_.push_back(job.row.id);
  for (auto at = log_order_.begin(); log_order_.size() > kMostLogs && at != log_order_.end();) {
    if (under_way_.of(*at)) {
      ++at;
      continue;
    }
    logs_.erase(*at);
    at = log_order_.erase(at);
  }
}

// Its clean-up is not cancelled.
Task<void> BuildVerbs::run_job(std::shared_ptr<BuildJob> job, ContextSource context) {
  auto work = attempt(job, std::move(context));
  auto end =
      co_await run_until_given_up<dockerfile::Finished>(parts_.jobs.loop(), job, std::move(work));
  const auto builders = std::exchange(job->builders, {});
  for (const auto& builder : builders) {
    const auto gone = co_await builder->destroy();
    if (!gone) parts_.jobs.warn("a builder stays until the next start: " + gone.error().message);
  }
  settle(*job, std::move(end));
  job->holds.clear();
  for (auto& [id, value] : job->request.secrets) wipe(value);
  job->request.secrets.clear();
  under_way_.erase(job->row.id);
  job->log->close();
  job->done.set();
  parts_.layers.collect();
  co_return Result<void>();
}

void BuildVerbs::settle(BuildJob& job, Result<dockerfile::Finished> end) {
  if (!end && end.error().reason == kShuttingDown) return;
  SnapshotInfo& row = job.row;
  row.updated_at = parts_.registry->clock().wall();
  Result<void> written;
  if (end) {
    row.layer = end->layer;
    row.config = config_with(std::move(end->config), job.made);
    row.status = kSnapshotReady;
    row.status_message.clear();
    row.used_bytes = parts_.layers.bytes_of(row.layer);
    written = parts_.registry->store().snapshots().put_tagged(
        row, job.made.tag.empty() ? std::string(kLatestTag) : job.made.tag);
    job.log->line("snapshot " + row.name + " is ready");
  } else {
    row.status = kSnapshotFailed;
    row.status_message = end.error().message.substr(0, kMostMessage);
    written = parts_.registry->store().snapshots().put(row);
    job.log->line("failed: " + row.status_message);
    job.log->failed_for(end.error().reason);
  }
  if (!written)
    parts_.jobs.warn("snapshot " + row.name + " is not on record: " + written.error().message);
}

Task<void> BuildVerbs::read_context(std::shared_ptr<BuildJob> job, BuildHost& host,
                                    ContextSource context) {
  std::unique_ptr<LayerSource> entries;
  if (context.archive) {
    auto reading = context.archive->layer(0);
    CAY_CO_TRY(entries, co_await std::move(reading));
  } else if (context.sandbox) {
    auto reading = context.sandbox->read_layer(context.directory);
    CAY_CO_TRY(entries, co_await std::move(reading));
  } else {
    co_return Result<void>();
  }
  auto writing =
      host.layer_of(context_entries(std::move(entries), job->context, std::move(context.ignored)));
  CAY_CO_TRY(job->context_layer, co_await std::move(writing));
  co_return Result<void>();
}

Task<dockerfile::Finished> BuildVerbs::attempt(std::shared_ptr<BuildJob> job,
                                               ContextSource context) {
  BuildHost host(parts_, job);
  for (const std::string& note : job->build.notes()) job->log->line("note: " + note);
  auto reading = read_context(job, host, std::move(context));
  CAY_CO_CHECK(co_await std::move(reading));
  CAY_CO_TRY(auto request, job->build.first());
  while (!std::holds_alternative<dockerfile::Finished>(request)) {
    auto doing = host.carry_out(std::move(request));
    auto answer = co_await std::move(doing);
    CAY_CO_TRY(request, job->build.next(std::move(answer)));
  }
  auto end = std::get<dockerfile::Finished>(std::move(request));
  if (end.layer.get().empty()) {
    CAY_CO_TRY(end.layer, co_await host.empty_layer());
  }
  co_return std::move(end);
}

Task<BuildLog> BuildVerbs::log(Principal who, std::string ref, std::uint64_t offset,
                               std::chrono::milliseconds most) {
  auto getting = parts_.snapshots.get(who, ref);
  CAY_CO_TRY(SnapshotInfo row, co_await std::move(getting));
  const auto found = logs_.find(row.id);
  if (found == logs_.end()) {
    co_return Error{Code::kNotFound, "build_not_found",
                    "there is no log of a build of snapshot '" + ref +
                        "': it was not built, or the daemon was restarted since",
                    0};
  }
  const auto log = found->second;
  co_await log->wait(offset, most);
  getting = parts_.snapshots.get(std::move(who), row.id.get());
  CAY_CO_TRY(row, co_await std::move(getting));
  auto text = log->text(offset);
  BuildLog out;
  out.snapshot = row.id;
  out.state = row.status;
  out.from = text.from;
  out.end = text.from + text.text.size();
  out.text = std::move(text.text);
  if (row.status == kSnapshotFailed) {
    out.message = row.status_message;
    out.reason = log->reason();
  }
  co_return std::move(out);
}

void BuildVerbs::stop() { under_way_.give_up(shutting_down()); }

}  // namespace cay::core
