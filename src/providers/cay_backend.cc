#include "providers/cay_backend.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "async/deadline.h"
#include "base/sha256.h"
#include "codec/kept_output.h"
#include "model/ids.h"
#include "providers/cay_calls.h"
#include "providers/cay_provider.h"

namespace cay::providers {
namespace {

constexpr double kDefaultTimeout = 1800;
constexpr double kQuick = 0.05;  // a command that takes longer is followed by a stream
constexpr std::size_t kMostPolled = 1u << 20;

// stderr goes where stdout goes, so that both keep their order. A line that sh cannot parse is
// reported before that, on stderr itself.
std::string merged(const std::string& command) { return "exec 2>&1; " + command; }

// Both streams as one. The second has bytes only where sh could not parse the line.
class Gathered {
 public:
  explicit Gathered(std::size_t keep) : kept_(keep) {}

  // The bytes that are new; nothing of an end.
  std::string_view add(const sdk::Event& event) {
    if (const auto* output = std::get_if<sdk::Output>(&event)) {
      kept_.add(total_, output->bytes);
      total_ += output->bytes.size();
      return output->bytes;
    }
    if (const auto* gap = std::get_if<sdk::Gap>(&event)) {
      kept_.add_gap(total_, gap->length);
      total_ += gap->length;
      lost_ = true;
    }
    return {};
  }

  void finish(Executed& into) {
    auto kept = kept_.take();
    into.output = std::move(kept.bytes);
    into.truncated = lost_ || kept.gap.has_value();
    into.total_bytes = total_;
  }

 private:
  codec::KeptOutput kept_;
  std::uint64_t total_ = 0;
  bool lost_ = false;
};

std::string reason_of(const sdk::CommandInfo& command) {
  if (!command.reason.empty()) return command.reason;
  if (command.state == "oom_killed") return "the kernel ended it: the sandbox's memory is full";
  if (command.state == "killed" && !command.by.empty()) return "killed by " + command.by;
  if (command.signal) return "ended by signal " + std::to_string(*command.signal);
  return {};
}

Executed executed(const sdk::CommandInfo& command) {
  Executed out;
  out.exit_code = command.exit_code;
  out.signal = command.signal;
  out.state = command.state;
  out.reason = reason_of(command);
  return out;
}

}  // namespace

std::string cay_command_id(const std::string& id) {
  if (id.empty() || is_valid_command_id(id)) return id;
  return sha256_hex(id);
}

CayBackend::CayBackend(const sdk::AsyncClient& client, const sdk::SandboxInfo& info)
    : CayFiles(client, info),
      workdir_(info.workdir),
      paths_{info.read_only_paths, info.hidden_paths} {}

const std::string& CayBackend::provider() const {
  static const std::string kName = "cay";
  return kName;
}

Features CayBackend::features() const {
  return {.streams = true,
          .attach = true,
          .background = true,
          .snapshots = true,
          .code = true,
          .hides_paths = true};
}

Task<void> CayBackend::begin() {
  if (!workdir_.empty()) co_return Result<void>();
  auto ran = co_await execute("pwd", {});
  if (!ran) co_return std::move(ran).error();
  workdir_ = ran->output.substr(0, ran->output.find('\n'));
  if (!workdir_.starts_with('/')) workdir_ = "/";
  co_return Result<void>();
}

Task<Executed> CayBackend::execute(std::string command, ExecuteOptions options) {
  sdk::CommandOptions with;
  with.id = cay_command_id(options.id);
  with.cwd = options.workdir;
  with.timeout_s = options.timeout_s.value_or(kDefaultTimeout);
  with.wait_s = kQuick;
  auto started = co_await called(box_.spawn_shell(merged(command), std::move(with)));
  if (!started) co_return std::move(started).error();
  auto ending = end_of(*std::move(started), options.keep, std::move(options.on_output));
  co_return co_await std::move(ending);
}

Task<Executed> CayBackend::end_of(sdk::AsyncCommand command, std::size_t keep,
                                  std::function<void(std::string_view)> on_output) {
  Gathered gathered(keep);
  for (;;) {
    auto event = co_await called(command.next());
    if (!event) co_return std::move(event).error();
    const auto bytes = gathered.add(*event);
    if (!bytes.empty() && on_output) on_output(bytes);
    const auto* end = std::get_if<sdk::End>(&*event);
    if (end == nullptr) continue;
    if (end->command.by == "sandbox removal") co_return lost_sandbox(id_, "it was deleted");
    auto out = executed(end->command);
    gathered.finish(out);
    co_return out;
  }
}

Task<std::string> CayBackend::start(std::string command, ExecuteOptions options) {
  sdk::CommandOptions with;
  with.id = cay_command_id(options.id);
  with.cwd = options.workdir;
  with.timeout_s = options.timeout_s.value_or(0);
  with.ttl_s = -1;  // its end is read later, whenever that is
  with.close_stdin = false;
  auto started = co_await called(box_.spawn_shell(merged(command), std::move(with)));
  if (!started) co_return std::move(started).error();
  co_return started->id();
}

Task<Running> CayBackend::poll(std::string id, std::uint64_t from, double wait_s) {
  const auto deadline = std::chrono::steady_clock::now() +
                        Millis(static_cast<std::int64_t>(std::max(wait_s, 0.0) * 1000));
  auto info = co_await called(box_.command(id));
  if (!info) co_return std::move(info).error();
  const bool on_stderr = info->err.bytes > 0;
  const std::uint64_t known = on_stderr ? info->err.bytes : info->out.bytes;
  const sdk::Offsets offsets{on_stderr ? 0 : from, on_stderr ? from : 0};
  auto command = co_await called(box_.attach(id, offsets));
  if (!command) co_return std::move(command).error();

  Running out{.id = id, .state = info->state, .exit_code = {}, .output = {}, .next = from};
  if (out.state.empty()) out.state = "running";
  while (out.output.size() < kMostPolled) {
    const auto left = left_until(deadline);
    // Output of before this call is on its way.
    const bool is_due = out.next < known || !info->running();
    if (left == Millis(0) && !is_due) break;
    auto next = with_deadline(called(command->next()), is_due ? left + Millis(10'000) : left);
    auto event = co_await std::move(next);
    if (!event) {
      if (event.error().reason == "deadline_exceeded") break;
      co_return std::move(event).error();
    }
    if (const auto* output = std::get_if<sdk::Output>(&*event)) {
      out.output += output->bytes;
      out.next += output->bytes.size();
    } else if (const auto* gap = std::get_if<sdk::Gap>(&*event)) {
      out.output +=
          "\n[cay: " + std::to_string(gap->length) + " bytes of output are left out here]\n";
      out.next += gap->length;
    } else {
      const auto& end = std::get<sdk::End>(*event).command;
      out.state = end.state;
      const auto code = executed(end);
      out.exit_code = code.shell_exit_code();
      co_return out;
    }
  }
  out.state = "running";  // or its end is not read yet
  co_return out;
}

Task<void> CayBackend::write_input(std::string id, std::string bytes, bool close) {
  auto info = co_await called(box_.command(id));
  if (!info) co_return std::move(info).error();
  const sdk::Offsets offsets{info->out.bytes, info->err.bytes};
  auto command = co_await called(box_.attach(std::move(id), offsets));
  if (!command) co_return std::move(command).error();
  if (!bytes.empty()) {
    auto written = co_await called(command->write_stdin(std::move(bytes)));
    if (!written) co_return std::move(written).error();
  }
  if (!close) co_return Result<void>();
  auto closed = co_await called(command->close_stdin());
  if (!closed) co_return std::move(closed).error();
  co_return Result<void>();
}

Task<void> CayBackend::kill(std::string id) {
  auto killed = co_await called(box_.kill(std::move(id)));
  if (!killed && killed.error().reason != "command_ended") {
    co_return std::move(killed).error();
  }
  co_return Result<void>();
}

Task<Executed> CayBackend::stop(std::string id, std::size_t keep) {
  const std::string name = cay_command_id(id);
  auto killing = kill(name);
  CAY_CO_CHECK(co_await std::move(killing));
  auto command = co_await called(box_.attach(name));
  if (!command) co_return std::move(command).error();
  auto ending = end_of(*std::move(command), keep, {});
  co_return co_await std::move(ending);
}

Task<std::string> CayBackend::checkpoint(std::string name) {
  auto taken = co_await called(box_.capture(std::move(name)));
  if (!taken) co_return std::move(taken).error();
  auto ready = co_await caught(client_.snapshot_store().wait(taken->id));
  if (!ready) co_return std::move(ready).error();
  co_return ready->id;
}

Task<void> CayBackend::restore(std::string name) {
  auto back = co_await called(box_.rollback(std::move(name)));
  if (!back) co_return std::move(back).error();
  co_return Result<void>();
}

Task<CodeRun> CayBackend::run_code(CodeRequest request) {
  sdk::CodeOptions options{.language = std::move(request.language)};
  options.input = std::move(request.input);
  options.args = std::move(request.args);
  options.libraries = std::move(request.libraries);
  options.timeout_s = request.timeout_s;
  auto got = co_await called(box_.run_code(std::move(request.code), std::move(options)));
  if (!got) co_return std::move(got).error();
  CodeRun out;
  out.run = executed(got->command);
  out.run.output = std::move(got->out);
  if (!got->err.empty()) {
    if (!out.run.output.empty() && !out.run.output.ends_with('\n')) out.run.output += '\n';
    out.run.output += got->err;
  }
  out.run.truncated = got->truncated;
  out.phase = std::move(got->phase);
  out.notes = std::move(got->notes);
  for (const auto& artifact : got->artifacts) out.artifacts.push_back(artifact.name);
  co_return out;
}

}  // namespace cay::providers
