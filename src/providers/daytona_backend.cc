#include "providers/daytona_backend.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "base/sha256.h"
#include "client/json_read.h"
#include "codec/kept_output.h"
#include "os/random.h"
#include "providers/daytona_files.h"
#include "providers/shell_text.h"

namespace cay::providers {
namespace {

namespace json = codec::json;

constexpr double kMostSeconds = 1800;  // by default
// A session is a shell inside. So many are kept, so that a caller who comes back finds its command.
constexpr std::size_t kMostEnded = 16;

// A session's name. The same id stays the same.
std::string session_of(const std::string& id) {
  std::string seed = id;
  if (seed.empty()) {
    auto random = os::random_bytes(16);
    if (random) seed = *std::move(random);
  }
  return "cay-" + sha256_hex(seed).substr(0, 32);
}

// A line of sh for the session's own shell, which may be another one.
std::string session_line(const std::string& command, const std::string& workdir,
                         std::string_view redirects) {
  std::string line = workdir.empty() ? "" : "cd " + shell_quoted(workdir) + " || exit\n";
  return "/bin/sh -c " + shell_quoted(line + command) + std::string(redirects);
}

Millis millis_of(double seconds) {
  return Millis(static_cast<std::int64_t>(std::max(seconds, 0.0) * 1000));
}

}  // namespace

DaytonaBackend::DaytonaBackend(std::shared_ptr<DaytonaApi> api,
                               std::unique_ptr<http::Client> toolbox, std::string id,
                               std::string workdir)
    : api_(std::move(api)),
      toolbox_(std::move(toolbox)),
      id_(std::move(id)),
      workdir_(std::move(workdir)) {}

Task<std::unique_ptr<Backend>> DaytonaBackend::open(std::shared_ptr<DaytonaApi> api,
                                                    json::object box) {
  const auto id = client::string_in(box, "id");
  auto url = client::string_in(box, "toolboxProxyUrl");
  if (url.empty() && !id.empty()) {
    CAY_CO_TRY(const auto named,
               co_await api->call("GET", daytona_target(id, "/toolbox-proxy-url")));
    url = client::string_in(named, "url");
  }
  if (url.empty()) {
    co_return Error{Code::kUnavailable, "provider_failed",
                    "Daytona's answer has no toolboxProxyUrl: is DAYTONA_API_URL its address?", 0};
  }
  while (url.ends_with('/')) url.pop_back();
  CAY_CO_TRY(auto toolbox, daytona_client(api->executor(), api->settings(), url + "/" + id));
  CAY_CO_TRY(const auto answer, co_await daytona_call(*toolbox, "GET", "/work-dir"));
  auto workdir = client::string_in(answer, "dir");
  if (!workdir.starts_with('/')) workdir = "/";
  co_return std::unique_ptr<Backend>(
      std::make_unique<DaytonaBackend>(std::move(api), std::move(toolbox), id, std::move(workdir)));
}

const std::string& DaytonaBackend::provider() const {
  static const std::string kName = "daytona";
  return kName;
}

Features DaytonaBackend::features() const {
  return {.streams = true, .attach = true, .background = true};
}

asio::awaitable<Error> DaytonaBackend::judged(Error error) {
  const bool is_of_command = error.reason == "unknown_command";
  const bool suspicious = error.code == Code::kNotFound || error.code == Code::kUnavailable ||
                          error.code == Code::kInvalidArgument;
  if (!suspicious || is_of_command) co_return error;
  auto box = co_await api_->call("GET", daytona_target(id_));
  if (!box && box.error().code == Code::kNotFound) {
    co_return Error{Code::kLost, "sandbox_lost",
                    "the sandbox " + id_ + " is gone: Daytona has none of this id", 0};
  }
  if (!box) co_return error;
  const auto state = client::string_in(*box, "state");
  if (state == "started" || state.empty()) co_return error;
  const auto why = client::string_in(*box, "errorReason");
  const bool is_gone = state == "destroyed" || state == "destroying" || state == "error";
  const auto message = "the sandbox " + id_ + " is " + state + (why.empty() ? "" : ": " + why);
  if (is_gone) co_return Error{Code::kLost, "sandbox_lost", message, 0};
  co_return Error{Code::kNotReady, "sandbox_not_ready", message, 0};
}

Task<void> DaytonaBackend::forget_oldest(std::string session) {
  ended_.push_back(std::move(session));
  if (ended_.size() <= kMostEnded) co_return Result<void>();
  DaytonaCommand oldest(*toolbox_, std::move(ended_.front()));
  ended_.pop_front();
  auto removed = co_await oldest.remove();
  co_return removed;
}

// Reads the output until the end of the command or of its time.
Task<Executed> DaytonaBackend::followed(DaytonaCommand& run, const ExecuteOptions& options) {
  const double seconds = options.timeout_s.value_or(kMostSeconds);
  const auto deadline = deadline_in(millis_of(seconds));
  codec::KeptOutput kept(options.keep);
  Executed out;
  while (out.state.empty()) {
    Task<Bytes> reading = run.next();
    Result<Bytes> piece = Bytes();
    if (seconds > 0) {
      piece = co_await with_deadline(std::move(reading), left_until(deadline));
    } else {
      piece = co_await std::move(reading);
    }
    if (!piece && piece.error().reason == "deadline_exceeded") {
      CAY_CO_CHECK(co_await run.remove());
      out.state = "timed_out";
    } else if (!piece) {
      co_return std::move(piece).error();
    } else if (piece->empty()) {
      CAY_CO_TRY(out.exit_code, co_await run.exit_code());
      out.state = out.exit_code ? "exited" : "lost";
      if (!out.exit_code) out.reason = "the session ended with its command";
    } else {
      kept.add(out.total_bytes, *piece);
      out.total_bytes += piece->size();
      if (options.on_output) options.on_output(*piece);
    }
  }
  auto output = kept.take();
  out.output = std::move(output.bytes);
  out.truncated = output.gap.has_value();
  co_return out;
}

Task<Executed> DaytonaBackend::execute(std::string command, ExecuteOptions options) {
  const auto session = session_of(options.id);
  DaytonaCommand run(*toolbox_, session);
  auto begun = co_await run.begin(session_line(command, options.workdir, " </dev/null 2>&1"));
  if (!begun) {
    auto error = co_await judged(std::move(begun).error());
    co_return error;
  }
  auto ended = co_await followed(run, options);
  if (!ended) {
    auto error = co_await judged(std::move(ended).error());
    co_return error;
  }
  if (ended->state != "timed_out") {
    // A session that could not be removed is there until the sandbox stops: no fault of this one.
    auto forgotten = co_await forget_oldest(session);
    static_cast<void>(forgotten);
  }
  co_return ended;
}

Task<std::vector<FileResult>> DaytonaBackend::upload(
    std::vector<std::pair<std::string, std::string>> files) {
  auto done = co_await daytona_upload(*toolbox_, std::move(files));
  if (done) co_return done;
  auto error = co_await judged(std::move(done).error());
  co_return error;
}

Task<std::vector<FileResult>> DaytonaBackend::download(std::vector<std::string> paths) {
  auto done = co_await daytona_download(*toolbox_, std::move(paths));
  if (done) co_return done;
  auto error = co_await judged(std::move(done).error());
  co_return error;
}

Task<std::string> DaytonaBackend::start(std::string command, ExecuteOptions options) {
  auto session = session_of(options.id);
  DaytonaCommand run(*toolbox_, session);
  auto begun = co_await run.begin(session_line(command, options.workdir, " 2>&1"));
  if (begun) co_return session;
  auto error = co_await judged(std::move(begun).error());
  co_return error;
}

Task<Running> DaytonaBackend::polled(std::string id, std::uint64_t from, double wait_s) {
  constexpr Millis kEach{200};
  const auto deadline = deadline_in(millis_of(wait_s));
  DaytonaCommand run(*toolbox_, id);
  CAY_CO_CHECK(co_await run.find());
  for (;;) {
    CAY_CO_TRY(const auto code, co_await run.exit_code());
    if (!code && left_until(deadline) > Millis(0)) {
      co_await sleep_for(std::min(kEach, left_until(deadline)));
      continue;
    }
    // After the exit code: all that it wrote before its end is there.
    CAY_CO_TRY(auto output, co_await run.output());
    Running out{.id = id,
                .state = code ? "exited" : "running",
                .exit_code = code,
                .output = output.substr(std::min<std::size_t>(from, output.size())),
                .next = output.size()};
    co_return out;
  }
}

Task<Running> DaytonaBackend::poll(std::string id, std::uint64_t from, double wait_s) {
  if (const auto at = killed_.find(id); at != killed_.end()) {
    auto out = at->second;
    out.output = out.output.substr(std::min<std::size_t>(from, out.output.size()));
    co_return out;
  }
  auto got = co_await polled(std::move(id), from, wait_s);
  if (got) co_return got;
  auto error = co_await judged(std::move(got).error());
  co_return error;
}

Task<void> DaytonaBackend::write_input(std::string id, std::string bytes, bool close) {
  if (close) {
    co_return Error{Code::kUnsupported, "verb_unsupported",
                    "Daytona cannot close the input of a command: send the line that ends it, or "
                    "kill it",
                    0};
  }
  DaytonaCommand run(*toolbox_, std::move(id));
  auto found = co_await run.find();
  if (found) {
    found = co_await run.write_input(std::move(bytes));
  }
  if (found) co_return found;
  auto error = co_await judged(std::move(found).error());
  co_return error;
}

Task<void> DaytonaBackend::kill(std::string id) {
  auto last = co_await polled(id, 0, 0);
  if (!last) {
    auto error = co_await judged(std::move(last).error());
    co_return error;
  }
  if (!last->running()) co_return Result<void>();
  DaytonaCommand run(*toolbox_, id);
  CAY_CO_CHECK(co_await run.remove());
  last->state = "killed";
  killed_[id] = *std::move(last);
  co_return Result<void>();
}

Task<Executed> DaytonaBackend::stop(std::string id, std::size_t keep) {
  const std::string session = session_of(id);
  auto killing = kill(session);
  CAY_CO_CHECK(co_await std::move(killing));
  auto polling = poll(session, 0, 0);
  CAY_CO_TRY(const auto last, co_await std::move(polling));
  codec::KeptOutput kept(keep);
  kept.add(0, last.output);
  auto output = kept.take();
  Executed out;
  out.state = last.state;
  out.exit_code = last.exit_code;
  out.output = std::move(output.bytes);
  out.truncated = output.gap.has_value();
  out.total_bytes = last.output.size();
  co_return out;
}

}  // namespace cay::providers
