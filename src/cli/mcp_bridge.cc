#include "cli/mcp_bridge.h"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "async/until_set.h"
#include "cli/output.h"
#include "cli/read_lines.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

// A little more than the daemon takes, so that it is the one that refuses.
constexpr std::size_t kMostLine = 9u << 20;
constexpr std::size_t kMostAnswer = 80u << 20;
constexpr std::size_t kMostWaiting = 64;                          // lines
constexpr std::size_t kMostInFlight = 256;                        // requests
constexpr int kInvalidRequest = -32600, kInternalError = -32603;  // JSON-RPC 2.0, 5.1
constexpr int kSuccessLimit = 300;

constexpr const char* kTarget = "/mcp";

const json::object* object_in(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

std::string_view text_in(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  if (found == nullptr || !found->is_string()) return {};
  return {found->get_string().data(), found->get_string().size()};
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

// The lines between the reading thread and the loop.
struct McpBridge::Input {
  explicit Input(const asio::any_io_executor& loop) : lines(loop, kMostWaiting + 1) {}

  // Called by the reading thread. It waits while the loop has many lines.
  void push(const asio::any_io_executor& loop, std::string line) {
    std::unique_lock lock(mutex);
    taken.wait(lock, [this] { return waiting < kMostWaiting; });
    ++waiting;
    asio::post(loop, [this, line = std::move(line)]() mutable { lines.try_push(std::move(line)); });
  }
  // Called by the loop.
  void note_taken() {
    const std::scoped_lock lock(mutex);
    --waiting;
    taken.notify_one();
  }

  Channel<std::string> lines;
  std::mutex mutex;
  std::condition_variable taken;
  std::size_t waiting = 0;  // under the mutex
};

McpBridge::McpBridge(asio::any_io_executor loop, std::unique_ptr<http::Client> client,
                     std::function<void(std::string)> write)
    : loop_(loop),
      client_(std::move(client)),
      write_(std::move(write)),
      input_(std::make_shared<Input>(loop)),
      work_(loop) {}

McpBridge::~McpBridge() = default;

void McpBridge::read_lines(int fd) {
  // A line that is too long is cut, and refused for its length.
  cli::read_lines(fd, kMostLine + 1,
                  [this](std::string line) { input_->push(loop_, std::move(line)); });
  asio::post(loop_, [input = input_] { input->lines.close(); });
}

asio::awaitable<void> McpBridge::serve() {
  auto reading = take_lines();
  co_await work_.until(std::move(reading));
  client_->close_idle();
}

asio::awaitable<void> McpBridge::take_lines() {
  for (;;) {
    auto line = co_await input_->lines.pop();
    if (!line) {
      ended_ = true;
      co_return;
    }
    input_->note_taken();
    if (is_blank(*line)) continue;
    co_await take(*std::move(line));
  }
}

asio::awaitable<void> McpBridge::take(std::string line) {
  if (line.size() > kMostLine) {
    fail(nullptr, kInvalidRequest, "a message has more than 9 MiB");
    co_return;
  }
  // The daemon refuses what is no message.
  const auto parsed = codec::parse(line);
  const json::object* message = parsed ? parsed->if_object() : nullptr;
  json::value id;
  std::string_view method;
  if (message != nullptr) {
    method = text_in(*message, "method");
    if (const json::value* given = message->if_contains("id")) id = *given;
  }
  if (method == "notifications/cancelled") {
    const json::object* params = object_in(*message, "params");
    const json::value* which = params == nullptr ? nullptr : params->if_contains("requestId");
    const auto found = which == nullptr ? in_flight_.end() : in_flight_.find(codec::write(*which));
    if (found != in_flight_.end()) found->second->set();
    co_return;
  }
  // The messages after a handshake state the version that it chose.
  if (method == "initialize") {
    co_await forward(std::move(line), std::move(id));
    co_return;
  }
  if (in_flight_.size() >= kMostInFlight) {
    fail(id, kInternalError, "256 requests are under way: wait for some to end");
    co_return;
  }
  work_.spawn(forward(std::move(line), std::move(id)));
}

asio::awaitable<void> McpBridge::forward(std::string line, json::value id) {
  auto cancelled = std::make_shared<Event>(loop_);
  const std::string name = codec::write(id);
  if (!id.is_null()) in_flight_[name] = cancelled;
  co_await forward_until(std::move(line), std::move(id), cancelled);
  const auto found = in_flight_.find(name);
  if (found != in_flight_.end() && found->second == cancelled) in_flight_.erase(found);
}

asio::awaitable<void> McpBridge::forward_until(std::string line, json::value id,
                                               std::shared_ptr<Event> cancelled) {
  const Error cut{Code::kCancelled, "cancelled", "the client cancelled the request", 0};
  auto sending = exchange(std::move(line), id);
  auto cut_short = until_set(std::move(sending), *cancelled, cut);
  auto done = co_await std::move(cut_short);
  // Nobody waits for the answer to a cancelled request, or after the end of the input.
  if (done || cancelled->is_set() || ended_) co_return;
  const Error& error = done.error();
  std::string why = error.message + " (" + error.reason + ")";
  if (error.reason == "connect_failed")
    why += ": start the daemon with `cay serve`, or set CAY_URL to where it is";
  print_error(why);
  if (!id.is_null()) fail(id, kInternalError, why);
}

Task<void> McpBridge::exchange(std::string line, json::value id) {
  http::ClientRequest request;
  request.method = "POST";
  request.target = kTarget;
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Accept", "application/json, text/event-stream");
  if (!version_.empty()) request.headers.add("MCP-Protocol-Version", version_);
  request.body = std::move(line);
  auto answer = co_await client_->send(std::move(request));
  if (!answer) co_return std::move(answer).error();
  const auto type = answer->headers.get("Content-Type").value_or("");
  if (answer->status < kSuccessLimit && type.starts_with("text/event-stream")) {
    auto passed = co_await pass_events(std::move(answer->body));
    co_return passed;
  }
  auto body = co_await read_all(std::move(answer->body), kMostAnswer);
  if (!body) co_return std::move(body).error();
  pass_answer(answer->status, *body, id);
  co_return Result<void>();
}

Task<void> McpBridge::pass_events(std::unique_ptr<ByteSource> body) {
  std::string text;
  for (;;) {
    auto bytes = co_await body->next();
    if (!bytes) co_return std::move(bytes).error();
    if (bytes->empty()) co_return Result<void>();
    text += *bytes;
    if (text.size() > kMostAnswer)
      co_return Error{Code::kInternal, "unexpected_answer", "an event has more than 80 MiB", 0};
    std::size_t at = 0;
    for (auto end = text.find('\n', at); end != std::string::npos; end = text.find('\n', at)) {
      const std::string_view line(text.data() + at, end - at);
      at = end + 1;
      // Each event of the daemon has one line of data.
      constexpr std::string_view kData = "data: ";
      if (line.starts_with(kData)) write_(std::string(line.substr(kData.size())) + "\n");
    }
    text.erase(0, at);
  }
}

void McpBridge::pass_answer(int status, const std::string& body, const json::value& id) {
  if (body.empty() && status < kSuccessLimit) return;  // a notification was taken
  auto answer = codec::parse(body);
  if (!answer) {
    const std::string said = "the daemon's answer has status " + std::to_string(status) +
                             " and is no JSON: is CAY_URL the address of a Cay daemon?";
    print_error(said);
    if (!id.is_null()) fail(id, kInternalError, said);
    return;
  }
  if (auto* message = answer->if_object()) {
    // A refusal of the whole request names no message.
    const json::value* of = message->if_contains("id");
    if (of != nullptr && of->is_null() && !id.is_null()) (*message)["id"] = id;
    note_version(*message);
  }
  write(*answer);
}

void McpBridge::note_version(const json::object& answer) {
  const json::object* result = object_in(answer, "result");
  if (result == nullptr || !result->contains("protocolVersion")) return;
  version_ = std::string(text_in(*result, "protocolVersion"));
}

void McpBridge::fail(const json::value& id, int code, const std::string& message) {
  write(json::object{{"jsonrpc", "2.0"},
                     {"id", id},
                     {"error", json::object{{"code", code}, {"message", codec::text(message)}}}});
}

void McpBridge::write(const json::value& message) { write_(codec::write(message) + "\n"); }

}  // namespace cay::cli
