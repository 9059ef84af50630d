#include "core/code_runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "async/bytes.h"
#include "async/deadline.h"
#include "code/plan.h"
#include "core/errors.h"

namespace cay::core {
namespace {

using code::Phase;
using code::RunResult;
using Verbs = CodeVerbs::Verbs;

// These timers remove the sandbox of one run if the daemon is killed meanwhile.
constexpr std::int64_t kIdleOfOneRun = 60;
constexpr std::int64_t kGoneAfterStop = 1;
constexpr std::int64_t kLifeBesidesRun = 3600;
constexpr std::uint64_t kMostPrinted = 64 << 10;  // of the preparation
constexpr std::uint32_t kMostFound = 1000;        // files in the directory of artifacts
constexpr std::size_t kMostRefusals = 5;
constexpr Millis kReportLimit{1'000};
constexpr std::uint32_t kOwnOnly = 0700;
constexpr std::uint32_t kReadable = 0600;

std::string refusal(const NetworkDecision& line) {
  std::string out = "the sandbox's policy refused " + line.host;
  if (line.port != 0) out += ":" + std::to_string(line.port);
  if (line.needs.empty()) return out + " (" + line.reason + ")";
  out += ". The rule '" + line.needs + "' would allow it";
  return line.preset.empty() ? out : out + ", and so would the policy '" + line.preset + "'";
}

// The files of a plan, to be written into its directory.
class PlannedTree : public TreeSource {
 public:
  explicit PlannedTree(std::vector<code::PlannedFile> files) {
    events_.emplace_back(entry("", FileKind::kDirectory, kOwnOnly, 0));
    for (code::PlannedFile& file : files) {
      events_.emplace_back(entry(file.path, FileKind::kFile, kReadable, file.bytes.size()));
      if (!file.bytes.empty()) events_.emplace_back(std::move(file.bytes));
    }
  }
  Task<std::optional<TreeEvent>> next() override {
    if (next_ == events_.size()) co_return std::optional<TreeEvent>();
    co_return std::optional<TreeEvent>(std::move(events_[next_++]));
  }

 private:
  static TreeEntry entry(std::string path, FileKind kind, std::uint32_t mode, std::size_t size) {
    TreeEntry out;
    out.info.path = std::move(path);
    out.info.kind = kind;
    out.info.mode = mode;
    out.info.size = size;
    return out;
  }
  std::vector<TreeEvent> events_;
  std::size_t next_ = 0;
};

Task<void> remove_directory(Files& files, Principal who, std::string sandbox, std::string path,
                            FileAs as) {
  auto removed = co_await files.remove(std::move(who), std::move(sandbox), std::move(path),
                                       std::move(as), true);
  if (!removed && removed.error().code == Code::kNotFound) co_return Result<void>();
  co_return removed;
}

// The keeper ends the program by kill_on_disconnect when its reader goes. This does not wait for
// that.
Task<void> end_and_remove(Verbs at, Principal who, std::string sandbox, CommandId running,
                          std::string path, FileAs as) {
  if (!running.get().empty()) {
    const auto ended = co_await at.commands.kill(who, sandbox, std::move(running), 0);
    static_cast<void>(ended);  // it may have ended by itself
  }
  auto removed = co_await remove_directory(at.files, std::move(who), std::move(sandbox),
                                           std::move(path), std::move(as));
  co_return removed;
}

// CodeRun: one run in one sandbox. Its end removes the files, and ends what still runs.
class CodeRun {
 public:
  CodeRun(Verbs at, Principal who, Sandbox box, code::Plan plan, std::uint64_t most)
      : at_(at),
        who_(std::move(who)),
        box_(std::move(box)),
        sandbox_(box_.id.get()),
        plan_(std::move(plan)),
        most_(most) {}
  ~CodeRun() {
    if (made_) at_.jobs.spawn(end_and_remove(at_, who_, sandbox_, running_, plan_.directory, as_));
  }
  CodeRun(const CodeRun&) = delete;
  CodeRun& operator=(const CodeRun&) = delete;

  Task<RunResult> all() {
    CAY_CO_CHECK(co_await prepare());
    auto run = co_await phases();
    made_ = false;
    const auto removed = co_await at_.jobs.finish<void>(
        remove_directory(at_.files, who_, sandbox_, plan_.directory, as_));
    if (run && !removed)
      run->notes.push_back("the files of this run could not be removed: " +
                           removed.error().message);
    co_return run;
  }

 private:
  struct Ended {
    Command command;
    code::Output output;
  };

  Task<Ended> ended(CommandSpec spec, std::uint64_t most) {
    if (spec.id.get().empty()) spec.id = CommandId(new_uuid());
    running_ = spec.id;
    code::OutputKeeper kept(most);
    CAY_CO_TRY(auto reader, co_await at_.commands.run(who_, sandbox_, std::move(spec)));
    for (;;) {
      CAY_CO_TRY(auto event, co_await reader->next());
      if (const auto* data = std::get_if<OutputData>(&event)) {
        if (!data->after_end) kept.add(data->stream, data->offset, data->bytes);
      } else if (const auto* gap = std::get_if<OutputGap>(&event)) {
        kept.add_gap(gap->stream, gap->offset, gap->length);
      } else {
        running_ = CommandId();
        co_return Ended{.command = std::get<OutputEnd>(std::move(event)).command,
                        .output = kept.take()};
      }
    }
  }

  Task<void> prepare() {
    made_ = true;
    auto done = co_await ended(plan_.prepare, kMostPrinted);
    if (!done && done.error().reason == "command_not_found")
      co_return code::toolchain_missing(*plan_.language, {"sh"});
    if (!done) co_return std::move(done).error();
    as_.user = done->command.user;
    if (shell_exit_code(done->command.end) != 0)
      co_return Error{
          Code::kNotReady, "code_not_prepared",
          "the directory of the program could not be made in the sandbox: " + done->output.err, 0};
    const auto read = code::read_preparation(*plan_.language, done->output.out);
    if (!read.missing.empty()) co_return code::toolchain_missing(*plan_.language, read.missing);
    if (read.installed) plan_.install.reset();
    auto tree = std::make_unique<PlannedTree>(std::move(plan_.files));
    auto written =
        co_await at_.files.write_tree(who_, sandbox_, plan_.directory, as_, std::move(tree));
    co_return written;
  }

  // Runs one phase into `result_`. Returns whether the next one may come.
  Task<bool> phase(Phase phase, CommandSpec spec, std::int64_t& took_ms) {
    CAY_CO_TRY(Ended done, co_await ended(std::move(spec), most_));
    result_.phase = phase;
    took_ms = std::max<std::int64_t>(0, done.command.end.ended_at - done.command.started_at);
    result_.command = std::move(done.command);
    result_.output = std::move(done.output);
    co_return shell_exit_code(result_.command.end) == 0;
  }

  Task<RunResult> phases() {
    result_.language = plan_.language;
    result_.sandbox = box_.id;
    bool goes_on = true;
    if (plan_.install) {
      CAY_CO_TRY(goes_on, co_await phase(Phase::kInstall, *plan_.install, result_.install_ms));
      result_.installed = goes_on;
    }
    if (goes_on && plan_.compile) {
      CAY_CO_TRY(goes_on, co_await phase(Phase::kCompile, *plan_.compile, result_.compile_ms));
    }
    if (goes_on) {
      CAY_CO_TRY(goes_on, co_await phase(Phase::kRun, plan_.run, result_.run_ms));
      if (result_.command.end.state == CommandState::kLost)
        co_return Error{Code::kLost, "code_lost",
                        "the program was lost: " + result_.command.end.reason, 0};
    }
    if (result_.phase == Phase::kRun) {
      CAY_CO_CHECK(co_await take_artifacts());
    }
    auto first = code::notes_of(result_, box_.limits.memory_bytes);
    std::ranges::move(first, std::inserter(result_.notes, result_.notes.begin()));
    if (!result_.ok()) {
      CAY_CO_CHECK(co_await note_refusals());
    }
    co_return std::move(result_);
  }

  // A report that does not come in time leaves no note.
  Task<void> note_refusals() {
    auto asking = at_.inspection.network(who_, sandbox_);
    const auto report = co_await with_deadline(std::move(asking), kReportLimit, "refusals");
    if (!report) co_return Result<void>();
    std::size_t count = 0;
    for (const NetworkDecision& line : report->items) {
      if (line.allowed || line.last_at < result_.command.started_at) continue;
      if (++count <= kMostRefusals) result_.notes.push_back(refusal(line));
    }
    co_return Result<void>();
  }

  Task<void> take_artifacts() {
    auto found = co_await at_.files.glob(who_, sandbox_, plan_.output, "*", as_, kMostFound);
    if (!found) {
      result_.notes.push_back("artifacts could not be read: " + found.error().message);
      co_return Result<void>();
    }
    std::erase_if(found->matches,
                  [](const FileInfo& info) { return info.kind != FileKind::kFile; });
    std::ranges::sort(found->matches, {}, &FileInfo::path);
    std::uint64_t left = code::kMostArtifactsBytes;
    std::size_t left_out = 0;
    for (const FileInfo& info : found->matches) {
      const std::uint64_t most = std::min(left, code::kMostArtifactBytes);
      if (result_.artifacts.size() == code::kMostArtifacts || info.size > most) {
        ++left_out;
        continue;
      }
      auto bytes = co_await bytes_of(info.path, most);
      if (!bytes) {
        ++left_out;
        continue;
      }
      left -= bytes->size();
      code::Artifact artifact;
      artifact.name = info.path.substr(info.path.rfind('/') + 1);
      artifact.mime = code::mime_of(artifact.name);
      artifact.bytes = *std::move(bytes);
      result_.artifacts.push_back(std::move(artifact));
    }
    if (left_out > 0 || found->truncated)
      result_.notes.push_back(
          (found->truncated ? "more files" : std::to_string(left_out) + " more files") +
          " in $CAY_OUTPUT_DIR are left out: a result holds 32 files, 8 MiB of each and 16 MiB "
          "together");
    co_return Result<void>();
  }

  Task<Bytes> bytes_of(std::string path, std::uint64_t most) {
    const ReadRange whole;
    CAY_CO_TRY(FileStream stream,
               co_await at_.files.read(who_, sandbox_, std::move(path), as_, whole));
    auto bytes = co_await read_all(std::move(stream.bytes), most);
    co_return bytes;
  }

  const Verbs at_;
  const Principal who_;
  const Sandbox box_;
  const std::string sandbox_;  // its id: the name may be another sandbox's meanwhile
  code::Plan plan_;
  const std::uint64_t most_;
  FileAs as_;
  CommandId running_;
  bool made_ = false;  // the directory may be there
  RunResult result_;
};

// Removes the sandbox of one run on every way out.
class SandboxOfOneRun {
 public:
  SandboxOfOneRun(Verbs at, Principal who, std::string id)
      : at_(at), who_(std::move(who)), id_(std::move(id)) {}
  ~SandboxOfOneRun() {
    if (!id_.empty()) at_.jobs.spawn(at_.sandboxes.remove(who_, id_));
  }
  SandboxOfOneRun(const SandboxOfOneRun&) = delete;
  SandboxOfOneRun& operator=(const SandboxOfOneRun&) = delete;

  Task<void> remove() {
    auto removing = at_.sandboxes.remove(who_, std::exchange(id_, {}));
    auto removed = co_await at_.jobs.finish<void>(std::move(removing));
    co_return removed;
  }

 private:
  const Verbs at_;
  const Principal who_;
  std::string id_;
};

}  // namespace

Task<code::RunResult> CodeVerbs::run(Principal who, std::string ref, code::RunRequest request) {
  CAY_CO_TRY(code::Plan plan, code::plan(request, new_uuid()));
  CAY_CO_TRY(Sandbox box, co_await at_.sandboxes.get(who, std::move(ref)));
  CodeRun run(at_, std::move(who), std::move(box), std::move(plan), request.max_output_bytes);
  auto result = co_await run.all();
  co_return result;
}

Task<code::RunResult> CodeVerbs::run_once(Principal who, SandboxSpec spec, CreateOptions options,
                                          code::RunRequest request) {
  CAY_CO_CHECK(code::check(request));
  constexpr std::int64_t kSecond = 1000;
  if (!spec.idle_ttl_s) spec.idle_ttl_s = kIdleOfOneRun;
  if (!spec.delete_after_stop_s) spec.delete_after_stop_s = kGoneAfterStop;
  if (spec.lifetime_s == 0) spec.lifetime_s = request.timeout_ms / kSecond + kLifeBesidesRun;
  options.wait_for_ready = true;
  CAY_CO_TRY(Sandbox box, co_await at_.sandboxes.create(who, std::move(spec), options));
  SandboxOfOneRun made(at_, who, box.id.get());
  auto result = co_await run(std::move(who), box.id.get(), std::move(request));
  const auto removed = co_await made.remove();
  if (result && !removed)
    result->notes.push_back("the sandbox could not be removed at once: " + removed.error().message);
  co_return result;
}

}  // namespace cay::core
