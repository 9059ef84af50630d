#include "providers/local_backend.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "codec/kept_output.h"

namespace cay::providers {
namespace {

namespace fs = std::filesystem;

constexpr double kDefaultTimeout = 120;
constexpr Millis kAfterEnd{150};             // for output that children hold open
constexpr std::size_t kMostKept = 4u << 20;  // of a background command's output
constexpr std::uintmax_t kMostDownloaded = 256u << 20;

// Reads all output until its end, and sets `ended` then.
asio::awaitable<void> pump(ChildProcess& child, std::function<void(std::string_view)> take,
                           Event& ended) {
  for (;;) {
    auto piece = co_await child.read();
    if (!piece || piece->empty()) break;
    take(*piece);
  }
  ended.set();
}

Executed ended_as(const ChildEnd& end) {
  Executed out;
  out.exit_code = end.exit_code;
  out.signal = end.signal;
  out.state = end.exit_code ? "exited" : "signalled";
  if (end.signal) out.reason = "ended by signal " + std::to_string(*end.signal);
  return out;
}

// The end of a child that gets `timeout_s` (0: as long as it likes).
Task<Executed> end_of(ChildProcess& child, double timeout_s) {
  if (timeout_s <= 0) {
    auto end = co_await child.wait();
    if (!end) co_return std::move(end).error();
    co_return ended_as(*end);
  }
  auto end =
      co_await with_deadline(child.wait(), Millis(static_cast<std::int64_t>(timeout_s * 1000)));
  if (end) co_return ended_as(*end);
  if (end.error().reason != "deadline_exceeded") co_return std::move(end).error();
  child.kill();
  auto killed = co_await child.wait();
  if (!killed) co_return std::move(killed).error();
  Executed out;
  out.state = "timed_out";
  co_return out;
}

asio::awaitable<void> let_output_come(Event& ended) {
  auto done = co_await ended.wait_for(kAfterEnd);
  static_cast<void>(done);
}

std::string word_of(int err) {
  switch (err) {
    case ENOENT: return "file_not_found";
    case EACCES:
    case EPERM:
    case EROFS: return "permission_denied";
    case EISDIR: return "is_directory";
    default: return "invalid_path";
  }
}

FileResult write_one(const std::string& path, const std::string& bytes) {
  FileResult out{path, std::nullopt, {}};
  if (!path.starts_with('/')) {
    out.error = "invalid_path";
    return out;
  }
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    out.error = "is_directory";
    return out;
  }
  fs::create_directories(fs::path(path).parent_path(), failed);
  if (failed) {
    out.error = word_of(failed.value() == EEXIST ? ENOTDIR : failed.value());
    return out;
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.flush();
  if (!file) out.error = word_of(errno == 0 ? EACCES : errno);
  return out;
}

FileResult read_one(const std::string& path) {
  FileResult out{path, std::nullopt, {}};
  if (!path.starts_with('/')) {
    out.error = "invalid_path";
    return out;
  }
  std::error_code failed;
  const auto status = fs::status(path, failed);
  if (fs::is_directory(status)) {
    out.error = "is_directory";
  } else if (status.type() == fs::file_type::not_found) {
    out.error = "file_not_found";
  } else if (!fs::is_regular_file(status)) {
    out.error = failed ? word_of(failed.value()) : "invalid_path";
  } else if (fs::file_size(path, failed) > kMostDownloaded) {
    out.error = "file_too_large";
  }
  if (!out.error.empty()) return out;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    out.error = word_of(errno == 0 ? EACCES : errno);
    return out;
  }
  out.content.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return out;
}

}  // namespace

// A command in the background. It keeps the last kMostKept bytes of its output.
struct LocalBackend::Job {
  explicit Job(const asio::any_io_executor& executor) : ended(executor), output_ended(executor) {}

  void add(std::string_view bytes) {
    kept += bytes;
    if (kept.size() <= kMostKept) return;
    const std::size_t dropped = kept.size() - kMostKept;
    begin += dropped;
    kept.erase(0, dropped);
  }

  std::unique_ptr<ChildProcess> child;
  std::string kept;
  std::uint64_t begin = 0;  // offset of `kept`
  Executed end;             // state empty: it runs
  bool killed = false;
  Event ended, output_ended;
};

LocalBackend::LocalBackend(asio::any_io_executor executor, std::string directory)
    : executor_(executor), directory_(std::move(directory)), scope_(executor) {}

LocalBackend::~LocalBackend() = default;

const std::string& LocalBackend::provider() const {
  static const std::string kName = "local";
  return kName;
}

Features LocalBackend::features() const { return {.streams = true, .background = true}; }

Result<void> LocalBackend::check_directory() const {
  std::error_code failed;
  if (fs::is_directory(directory_, failed)) return {};
  return Error{Code::kLost, "sandbox_lost", "the directory " + directory_ + " is gone", 0};
}

Result<std::unique_ptr<ChildProcess>> LocalBackend::started(const std::string& command,
                                                            const ExecuteOptions& options,
                                                            bool stdin_at_end) {
  CAY_CHECK(check_directory());
  ChildOptions child;
  child.argv = {"/bin/sh", "-c", command};
  child.env = harmless_environment();
  child.workdir = options.workdir.empty() ? directory_ : options.workdir;
  child.stdin_at_end = stdin_at_end;
  child.merge_stderr = true;
  return ChildProcess::start(executor_, std::move(child));
}

Task<Executed> LocalBackend::execute(std::string command, ExecuteOptions options) {
  CAY_CO_TRY(const auto child, started(command, options, true));
  codec::KeptOutput kept(options.keep);
  std::uint64_t total = 0;
  const auto take = [&](std::string_view bytes) {
    kept.add(total, bytes);
    total += bytes.size();
    if (options.on_output) options.on_output(bytes);
  };
  Event output_ended(executor_);
  Scope reader(executor_);
  reader.spawn(pump(*child, take, output_ended));
  const double timeout = options.timeout_s.value_or(kDefaultTimeout);
  auto body = [](ChildProcess& of, double seconds, Event& output) -> Task<Executed> {
    auto end = co_await end_of(of, seconds);
    if (end) {
      co_await let_output_come(output);
    }
    co_return end;
  };
  auto end = co_await reader.until(body(*child, timeout, output_ended));
  if (!end) co_return std::move(end).error();
  auto output = kept.take();
  end->output = std::move(output.bytes);
  end->truncated = output.gap.has_value();
  end->total_bytes = total;
  co_return end;
}

Task<std::vector<FileResult>> LocalBackend::upload(
    std::vector<std::pair<std::string, std::string>> files) {
  CAY_CO_CHECK(check_directory());
  std::vector<FileResult> out;
  for (const auto& [path, bytes] : files) out.push_back(write_one(path, bytes));
  co_return out;
}

Task<std::vector<FileResult>> LocalBackend::download(std::vector<std::string> paths) {
  CAY_CO_CHECK(check_directory());
  std::vector<FileResult> out;
  for (const auto& path : paths) out.push_back(read_one(path));
  co_return out;
}

Task<std::string> LocalBackend::start(std::string command, ExecuteOptions options) {
  const std::string id = options.id.empty() ? "local-" + std::to_string(next_++) : options.id;
  if (jobs_.contains(id)) co_return id;
  auto made = std::make_shared<Job>(executor_);
  CAY_CO_TRY(made->child, started(command, options, false));
  jobs_[id] = made;
  auto watch = [](std::shared_ptr<Job> of, double seconds) -> asio::awaitable<void> {
    auto end = co_await end_of(*of->child, seconds);
    co_await let_output_come(of->output_ended);
    of->end.state = "lost";
    if (end) of->end = *std::move(end);
    if (of->killed) of->end.state = "killed";
    of->ended.set();
  };
  auto read = [](std::shared_ptr<Job> of) -> asio::awaitable<void> {
    auto take = [of](std::string_view bytes) { of->add(bytes); };
    co_await pump(*of->child, std::move(take), of->output_ended);
  };
  scope_.spawn(read(made));
  scope_.spawn(watch(made, options.timeout_s.value_or(0)));
  co_return id;
}

Result<std::shared_ptr<LocalBackend::Job>> LocalBackend::job(const std::string& id) const {
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) return found->second;
  return Error{Code::kNotFound, "unknown_command",
               "no command '" + id + "' was started by this process", 0};
}

Task<Running> LocalBackend::poll(std::string id, std::uint64_t from, double wait_s) {
  CAY_CO_TRY(const auto found, job(id));
  if (wait_s > 0) {
    auto over = co_await found->ended.wait_for(Millis(static_cast<std::int64_t>(wait_s * 1000)));
    static_cast<void>(over);
  }
  Running out{.id = id, .state = "running", .exit_code = {}, .output = {}, .next = from};
  if (from < found->begin) {
    out.output =
        "[cay: " + std::to_string(found->begin - from) + " bytes of output are left out here]\n";
    from = found->begin;
  }
  const std::uint64_t end = found->begin + found->kept.size();
  if (from < end) out.output += found->kept.substr(static_cast<std::size_t>(from - found->begin));
  out.next = std::max(from, end);
  if (found->ended.is_set()) {
    out.state = found->end.state;
    out.exit_code = found->end.shell_exit_code();
  }
  co_return out;
}

Task<void> LocalBackend::write_input(std::string id, std::string bytes, bool close) {
  CAY_CO_TRY(const auto found, job(id));
  if (!bytes.empty()) {
    auto written = co_await found->child->write(std::move(bytes));
    if (!written) co_return written;
  }
  if (close) found->child->close_stdin();
  co_return Result<void>();
}

Task<void> LocalBackend::kill(std::string id) {
  CAY_CO_TRY(const auto found, job(id));
  found->killed = !found->ended.is_set();
  found->child->kill();
  co_return Result<void>();
}

// A cancelled execute() has killed its command already, with its group.
Task<Executed> LocalBackend::stop(std::string /*id*/, std::size_t /*keep*/) {
  Executed out;
  out.state = "killed";
  co_return out;
}

}  // namespace cay::providers
