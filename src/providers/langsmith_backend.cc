#include "providers/langsmith_backend.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "async/deadline.h"
#include "async/event.h"
#include "base/sha256.h"
#include "client/json_read.h"
#include "codec/kept_output.h"
#include "os/random.h"

namespace cay::providers {
namespace {

namespace json = codec::json;

constexpr double kDefaultTimeout = 1800;
constexpr std::size_t kMostDownloaded = 256u << 20;
constexpr std::size_t kMostPolled = 1u << 20;

// 32 hex digits, as the vendor's clients choose them. The same id stays the same.
std::string wire_id(const std::string& id) {
  std::string seed = id;
  if (seed.empty()) {
    auto random = os::random_bytes(16);
    if (random) seed = *std::move(random);
  }
  return sha256_hex(seed).substr(0, 32);
}

json::object execute_frame(const std::string& command, const ExecuteOptions& options,
                           double timeout_s, bool background) {
  json::object frame{{"type", "execute"},
                     {"command", codec::text("exec 2>&1; " + command)},
                     {"timeout_seconds", static_cast<std::int64_t>(std::ceil(timeout_s))},
                     {"shell", "/bin/sh"},
                     {"idle_timeout_seconds", -1},
                     {"kill_on_disconnect", false},
                     {"ttl_seconds", background ? -1 : 600}};
  frame["command_id"] = wire_id(options.id);
  if (!options.workdir.empty()) frame["cwd"] = codec::text(options.workdir);
  if (!background) frame["close_stdin"] = true;
  return frame;
}

// How a command ended. An Error: it was refused.
Result<Executed> executed(const LangSmithEvent& end) {
  Executed out;
  if (end.exit_code) {
    out.exit_code = end.exit_code;
    out.state = "exited";
    return out;
  }
  out.reason = end.error;
  if (end.error_type == "CommandTimeout") {
    out.state = "timed_out";
  } else if (end.error_type == "CommandNotFound" || end.error_type == "SessionExpired") {
    out.state = "lost";
  } else {
    return Error{Code::kInvalidArgument, "command_refused", end.error, 0};
  }
  return out;
}

http::ClientRequest file_request(std::string method, std::string_view route,
                                 const std::string& path) {
  http::ClientRequest request;
  request.method = std::move(method);
  request.target = std::string(route) + "?path=" + http::encode_segment(path);
  return request;
}

// The code of upload() and download() for an answer; empty: it is not about the file.
std::string file_word(int status, std::string_view body) {
  const auto fault = langsmith_fault(body);
  const auto& message = fault.message;
  if (fault.type == "FileNotFound") return "file_not_found";
  if (message.find("is a directory") != std::string::npos) return "is_directory";
  if (status == 403 || message.find("ermission denied") != std::string::npos) {
    return "permission_denied";
  }
  if (fault.type == "ReadError") return "invalid_path";
  if (fault.type == "WriteError") return "permission_denied";
  return {};
}

Error unknown_command(const std::string& id) {
  return {Code::kNotFound, "unknown_command", "no command '" + id + "' is kept for this sandbox"};
}

}  // namespace

LangSmithBackend::LangSmithBackend(std::shared_ptr<LangSmithApi> api,
                                   std::unique_ptr<http::Client> client, std::string id)
    : api_(std::move(api)), client_(std::move(client)), id_(std::move(id)) {}

Task<std::unique_ptr<Backend>> LangSmithBackend::open(std::shared_ptr<LangSmithApi> api,
                                                      json::object box) {
  const auto url = client::string_in(box, "dataplane_url");
  if (url.empty()) {
    co_return Error{Code::kUnavailable, "provider_failed",
                    "LangSmith's answer has no dataplane_url: is LANGSMITH_ENDPOINT its address?",
                    0};
  }
  CAY_CO_TRY(auto client, langsmith_client(api->executor(), api->settings(), url));
  std::unique_ptr<LangSmithBackend> made(
      new LangSmithBackend(std::move(api), std::move(client), client::string_in(box, "id")));
  auto ran = co_await made->execute("pwd", {});
  if (!ran) co_return std::move(ran).error();
  made->workdir_ = ran->output.substr(0, ran->output.find('\n'));
  if (!made->workdir_.starts_with('/')) made->workdir_ = "/";
  co_return std::unique_ptr<Backend>(std::move(made));
}

const std::string& LangSmithBackend::provider() const {
  static const std::string kName = "langsmith";
  return kName;
}

Features LangSmithBackend::features() const {
  return {.streams = true, .attach = true, .background = true};
}

asio::awaitable<Error> LangSmithBackend::judged(Error error) {
  const bool suspicious = error.code == Code::kNotFound || error.code == Code::kUnavailable ||
                          error.code == Code::kNotReady;
  if (!suspicious) co_return error;
  auto box = co_await api_->call("GET", "/boxes/" + http::encode_segment(id_));
  if (!box && box.error().code == Code::kNotFound) {
    co_return Error{Code::kLost, "sandbox_lost",
                    "the sandbox " + id_ + " is gone: LangSmith has none of this id", 0};
  }
  if (box) {
    const auto status = client::string_in(*box, "status");
    if (status == "failed" || status == "deleting") {
      co_return Error{
          Code::kLost, "sandbox_lost",
          "the sandbox " + id_ + " is " + status + ": " + client::string_in(*box, "status_message"),
          0};
    }
  }
  co_return error;
}

Task<Executed> LangSmithBackend::execute(std::string command, ExecuteOptions options) {
  LangSmithCommand run(*client_, execute_frame(command, options,
                                               options.timeout_s.value_or(kDefaultTimeout), false));
  codec::KeptOutput kept(options.keep);
  std::uint64_t total = 0;
  for (;;) {
    auto event = co_await run.next();
    if (!event) {
      auto error = co_await judged(std::move(event).error());
      co_return error;
    }
    if (!event->ended) {
      kept.add(total, event->output);
      total += event->output.size();
      if (options.on_output) options.on_output(event->output);
      continue;
    }
    CAY_CO_TRY(auto out, executed(*event));
    auto output = kept.take();
    out.output = std::move(output.bytes);
    out.truncated = output.gap.has_value();
    out.total_bytes = total;
    co_return out;
  }
}

Task<FileResult> LangSmithBackend::upload_one(std::string path, std::string bytes) {
  FileResult out{path, std::nullopt, {}};
  if (!path.starts_with('/')) {
    out.error = "invalid_path";
    co_return out;
  }
  const std::string boundary = "cay-" + sha256_hex(bytes).substr(0, 32);
  auto request = file_request("POST", "/upload", path);
  request.headers.add("Content-Type", "multipart/form-data; boundary=" + boundary);
  request.body = "--" + boundary +
                 "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n"
                 "Content-Type: application/octet-stream\r\n\r\n" +
                 bytes + "\r\n--" + boundary + "--\r\n";
  auto answer = co_await client_->request(std::move(request));
  if (!answer) co_return std::move(answer).error();
  if (answer->status < 300) co_return out;
  out.error = file_word(answer->status, answer->body);
  if (out.error.empty()) co_return langsmith_error(answer->status, answer->body);
  co_return out;
}

Task<FileResult> LangSmithBackend::download_one(std::string path) {
  FileResult out{path, std::nullopt, {}};
  if (!path.starts_with('/')) {
    out.error = "invalid_path";
    co_return out;
  }
  auto answer = co_await client_->request(file_request("GET", "/download", path), kMostDownloaded);
  if (!answer && answer.error().reason == "body_too_large") {
    out.error = "file_too_large";
    co_return out;
  }
  if (!answer) co_return std::move(answer).error();
  if (answer->status < 300) {
    out.content = std::move(answer->body);
    co_return out;
  }
  out.error = file_word(answer->status, answer->body);
  if (out.error.empty()) co_return langsmith_error(answer->status, answer->body);
  co_return out;
}

Task<std::vector<FileResult>> LangSmithBackend::upload(
    std::vector<std::pair<std::string, std::string>> files) {
  std::vector<FileResult> out;
  for (auto& [path, bytes] : files) {
    auto done = co_await upload_one(path, std::move(bytes));
    if (!done) {
      auto error = co_await judged(std::move(done).error());
      co_return error;
    }
    out.push_back(*std::move(done));
  }
  co_return out;
}

Task<std::vector<FileResult>> LangSmithBackend::download(std::vector<std::string> paths) {
  std::vector<FileResult> out;
  for (const auto& path : paths) {
    auto done = co_await download_one(path);
    if (!done) {
      auto error = co_await judged(std::move(done).error());
      co_return error;
    }
    out.push_back(*std::move(done));
  }
  co_return out;
}

Task<std::string> LangSmithBackend::start(std::string command, ExecuteOptions options) {
  LangSmithCommand run(*client_,
                       execute_frame(command, options, options.timeout_s.value_or(0), true));
  auto begun = co_await run.connect();
  if (!begun) {
    auto error = co_await judged(std::move(begun).error());
    co_return error;
  }
  co_return run.id();
}

Task<Running> LangSmithBackend::poll(std::string id, std::uint64_t from, double wait_s) {
  constexpr Millis kReplay{300};  // for output of before this call
  const auto deadline = deadline_in(
      std::max(kReplay, Millis(static_cast<std::int64_t>(std::max(wait_s, 0.0) * 1000))));
  LangSmithCommand run(*client_, id, from, 0);
  auto begun = co_await run.connect();
  if (!begun) {
    auto error = co_await judged(std::move(begun).error());
    co_return error;
  }
  Running out{.id = id, .state = "running", .exit_code = {}, .output = {}, .next = from};
  while (out.output.size() < kMostPolled) {
    const auto left = left_until(deadline);
    if (left == Millis(0)) break;
    auto event = co_await with_deadline(run.next(), left);
    if (!event) {
      if (event.error().reason == "deadline_exceeded") break;
      auto error = co_await judged(std::move(event).error());
      co_return error;
    }
    if (!event->ended) {
      out.output += event->output;
      out.next = run.out();
      continue;
    }
    CAY_CO_TRY(const auto end, executed(*event));
    if (end.state == "lost") co_return unknown_command(id);
    out.state = end.state;
    out.exit_code = end.shell_exit_code();
    break;
  }
  co_return out;
}

Task<void> LangSmithBackend::write_input(std::string id, std::string bytes, bool close) {
  LangSmithCommand run(*client_, id, 0, 0);
  if (!bytes.empty()) {
    json::object input{{"type", "input"}, {"data", codec::text(bytes)}};
    CAY_CO_CHECK(co_await run.send(std::move(input)));
  }
  if (close) {
    json::object end{{"type", "close_stdin"}};
    CAY_CO_CHECK(co_await run.send(std::move(end)));
  }
  co_return Result<void>();
}

Task<void> LangSmithBackend::kill(std::string id) {
  LangSmithCommand run(*client_, id, 0, 0);
  json::object frame{{"type", "kill"}};
  auto sent = co_await run.send(std::move(frame));
  co_return sent;
}

Task<Executed> LangSmithBackend::stop(std::string id, std::size_t keep) {
  LangSmithCommand run(*client_, wire_id(id), 0, 0);
  json::object frame{{"type", "kill"}};
  CAY_CO_CHECK(co_await run.send(std::move(frame)));
  codec::KeptOutput kept(keep);
  std::uint64_t total = 0;
  for (;;) {
    auto event = co_await run.next();
    if (!event) {
      auto error = co_await judged(std::move(event).error());
      co_return error;
    }
    if (!event->ended) {
      kept.add(total, event->output);
      total += event->output.size();
      continue;
    }
    if (event->error_type == "CommandNotFound") co_return unknown_command(id);
    Executed out;
    out.exit_code = event->exit_code;
    out.state = event->exit_code ? "exited" : "killed";
    out.reason = event->error;
    auto output = kept.take();
    out.output = std::move(output.bytes);
    out.truncated = output.gap.has_value();
    out.total_bytes = total;
    co_return out;
  }
}

}  // namespace cay::providers
