#include "core/build_run.h"

#include "async/bytes.h"
#include "core/build_errors.h"
#include "dockerfile/text.h"

namespace cay::core {
namespace {

// In memory, in every sandbox that runs commands: nothing in it gets into a layer.
constexpr std::string_view kInMemory = "/run/";
constexpr std::string_view kOfBuild = "/run/cay-build";
constexpr std::int64_t kLongestRun = std::int64_t{6} * 3600 * 1000;
constexpr std::uint32_t kSecretMode = 0400;
constexpr int kSignalBase = 128;

Task<void> write_file(std::shared_ptr<LiveSandbox> live, std::string path, std::string text,
                      std::uint32_t mode) {
  WriteOptions options;
  options.mode = mode;
  options.keep_mode = false;
  auto writing = live->write(std::move(path), std::move(options), source_of(std::move(text)));
  auto written = co_await std::move(writing);
  if (!written) co_return std::move(written).error();
  co_return Result<void>();
}

Task<CommandEnd> end_of(std::shared_ptr<LiveSandbox> live, CommandSpec spec, BuildOutput& log) {
  const CommandId id = spec.id;
  auto starting = live->start(std::move(spec));
  auto started = co_await std::move(starting);
  if (!started && started.error().code == Code::kInvalidArgument)
    co_return build_failed(started.error().message);
  if (!started) co_return std::move(started).error();
  auto attaching = live->attach(id, OutputOffsets{});
  CAY_CO_TRY(auto reader, co_await std::move(attaching));
  for (;;) {
    CAY_CO_TRY(auto event, co_await reader->next());
    if (const auto* data = std::get_if<OutputData>(&event)) {
      log.output(data->bytes);
    } else if (const auto* gap = std::get_if<OutputGap>(&event)) {
      log.output("\n[" + std::to_string(gap->length) + " bytes of output were dropped]\n");
    } else {
      log.end_output();
      co_return std::get<OutputEnd>(event).command.end;
    }
  }
}

}  // namespace

std::string BuildRun::name() const { return dockerfile::shown(job_->build.current()->text); }

Result<BootSpec> BuildRun::spec(const LayerId& layer) const {
  if (layer.get().empty())
    return build_failed("there is nothing to run: the image is empty, as FROM scratch leaves it");
  BootSpec out;
  out.hostname = "build";
  out.layer = layer;
  out.limits = job_->run.limits;
  out.profile = profile_from(job_->run.profile).value_or(Profile::kStrict);  // checked before
  out.policy = job_->run.policy;
  out.rules = job_->run.rules;
  out.network_required = job_->network_required;
  for (const dockerfile::Mount& mount : step_.mounts) {
    if (mount.type == dockerfile::MountType::kTmpfs) out.tmpfs[mount.target] = mount.size;
    if (mount.type == dockerfile::MountType::kBind && !mount.read_only)
      return not_built("RUN --mount=type=bind,rw is not supported: copy the files instead");
    if (mount.type == dockerfile::MountType::kSecret && mount.required &&
        !job_->request.secrets.contains(mount.id))
      return build_failed("the secret '" + dockerfile::shown(mount.id) + "' was not given");
  }
  return out;
}

// By the image's own program, as its root.
Task<void> BuildRun::own(dockerfile::Mount mount, std::shared_ptr<LiveSandbox> live) {
  CommandSpec spec;
  spec.close_stdin = true;
  spec.run.env = step_.env;
  std::vector<std::vector<std::string>> programs;
  if (mount.uid || mount.gid) {
    programs.push_back(
        {"chown",
         std::to_string(mount.uid.value_or(0)) + ":" + std::to_string(mount.gid.value_or(0)),
         mount.target});
  }
  if (mount.mode) {
    std::string octal;
    for (int shift = 9; shift >= 0; shift -= 3)
      octal += static_cast<char>('0' + ((*mount.mode >> shift) & 7U));
    programs.push_back({"chmod", octal, mount.target});
  }
  for (auto& program : programs) {
    spec.id = CommandId(new_uuid());
    spec.argv = std::move(program);
    auto running = end_of(live, spec, *job_->log);
    CAY_CO_TRY(const CommandEnd end, co_await std::move(running));
    if (shell_exit_code(end) != 0)
      co_return build_failed(name() + ": " + spec.argv.front() + " of the cache " + mount.target +
                             " failed");
  }
  co_return Result<void>();
}

Task<void> BuildRun::write_secret(dockerfile::Mount mount, std::size_t index,
                                  std::shared_ptr<LiveSandbox> live, CommandSpec& spec) {
  const auto found = job_->request.secrets.find(mount.id);
  if (found == job_->request.secrets.end()) co_return Result<void>();
  if (!mount.env.empty()) spec.run.env[mount.env] = found->second;
  if (mount.target.empty()) co_return Result<void>();
  std::string path = mount.target;
  if (!path.starts_with(kInMemory)) {
    path = std::string(kOfBuild) + "/secret-" + std::to_string(index);
    link(mount.target, path);
  }
  const std::uint32_t mode = mount.mode.value_or(kSecretMode);
  CAY_CO_CHECK(co_await write_file(live, path, found->second, mode));
  if (!mount.uid && !mount.gid) co_return Result<void>();
  mount.target = path;
  mount.mode.reset();
  auto owning = own(std::move(mount), std::move(live));
  auto owned = co_await std::move(owning);
  co_return owned;
}

Task<void> BuildRun::link_all(std::shared_ptr<LiveSandbox> live) {
  if (links_.empty()) co_return Result<void>();
  std::vector<CopyPart> parts;
  for (const auto& [path, real] : links_) {
    auto looking = live->stat(path, FileAs{}, false);
    const auto there = co_await std::move(looking);
    if (there)
      co_return not_built("--mount over the file " + path +
                          ", which the image has, is not supported: choose another target");
    if (there.error().code != Code::kNotFound) co_return there.error();
    MadePart made;
    made.entry.path = path.substr(1);
    made.entry.kind = EntryKind::kSymlink;
    made.entry.target = real;
    parts.emplace_back(std::move(made));
  }
  auto writing = live->write_layer(copied_layer(std::move(parts)));
  auto written = co_await std::move(writing);
  co_return written;
}

Task<void> BuildRun::unlink_all(std::shared_ptr<LiveSandbox> live) const {
  for (const auto& [path, real] : links_) {
    auto looking = live->stat(path, FileAs{}, false);
    const auto there = co_await std::move(looking);
    if (!there || there->kind != FileKind::kSymlink || there->target != real) continue;
    auto removing = live->remove(path, FileAs{}, false);
    CAY_CO_CHECK(co_await std::move(removing));
  }
  co_return Result<void>();
}

Task<void> BuildRun::prepare(std::shared_ptr<LiveSandbox> live, CommandSpec& spec) {
  spec.id = CommandId(new_uuid());
  spec.argv = step_.argv;
  spec.shell_line = spec.argv.size() == 3 && spec.argv[1] == "-c";
  spec.run.env = step_.env;
  for (const auto& [key, value] : step_.proxies) spec.run.env.try_emplace(key, value);
  if (!step_.user.empty()) spec.run.user = step_.user;
  spec.run.workdir = step_.workdir;
  spec.timeout_ms = kLongestRun;
  spec.close_stdin = true;
  spec.end_tree = true;
  if (!step_.script.empty()) {
    const std::string file = std::string(kOfBuild) + "/script";
    CAY_CO_CHECK(co_await write_file(live, file, step_.script, 0755));
    spec.argv.front() = file;
  }
  for (std::size_t i = 0; i < step_.mounts.size(); ++i) {
    if (step_.mounts[i].type != dockerfile::MountType::kSecret) continue;
    CAY_CO_CHECK(co_await write_secret(step_.mounts[i], i, live, spec));
  }
  auto linking = link_all(std::move(live));
  auto linked = co_await std::move(linking);
  co_return linked;
}

Task<void> BuildRun::run(std::shared_ptr<LiveSandbox> live) {
  CommandSpec spec;
  CAY_CO_CHECK(co_await prepare(live, spec));
  auto running = end_of(live, std::move(spec), *job_->log);
  auto end = co_await std::move(running);
  if (!end && end.error().reason == "build_failed")
    co_return build_failed(name() + ": " + end.error().message);
  if (!end) co_return std::move(end).error();
  CAY_CO_CHECK(judged(*end));
  auto unlinking = unlink_all(std::move(live));
  auto unlinked = co_await std::move(unlinking);
  co_return unlinked;
}

Result<void> BuildRun::judged(const CommandEnd& end) const {
  std::string how;
  switch (end.state) {
    case CommandState::kExited:
      if (end.exit_code == 0) return {};
      how = "exit code " + std::to_string(end.exit_code);
      break;
    case CommandState::kSignalled:
      how = "exit code " + std::to_string(kSignalBase + end.signal) + ", by signal " +
            std::to_string(end.signal);
      break;
    case CommandState::kOomKilled:
      how = "it was ended, as it used more memory than the " +
            std::to_string(job_->run.limits.memory_bytes >> 20) + " MiB that a step has";
      break;
    case CommandState::kTimedOut: how = "it ran longer than 6 hours"; break;
    case CommandState::kRunning:
    case CommandState::kIdleKilled:
    case CommandState::kKilled:
    case CommandState::kLost:
      return Error{Code::kLost, "build_step_lost",
                   name() + " was lost: " + (end.reason.empty() ? end.by : end.reason), 0};
  }
  if (end.oom_kills > 0 && end.state != CommandState::kOomKilled)
    how += " (the kernel ended a process of it for want of memory)";
  const std::string tail = job_->log->tail();
  return build_failed(name() + ": " + how + (tail.empty() ? "" : "\n" + tail));
}

}  // namespace cay::core
