// An MCP server as a child of this process: one JSON text a line, both ways.
#include <map>
#include <utility>

#include "agent/tools/mcp_link.h"
#include "async/event.h"
#include "async/mutex.h"
#include "async/scope.h"
#include "providers/child_process.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostLine = 32u << 20;

struct Waiting {
  explicit Waiting(const asio::any_io_executor& executor) : come(executor) {}
  Event come;
  json::object answer;
  bool lost = false;
};

// The state that the link and its reader share.
struct Conversation {
  Conversation(const asio::any_io_executor& on, std::unique_ptr<providers::ChildProcess> with)
      : executor(on), child(std::move(with)), writing(on) {}

  asio::any_io_executor executor;
  std::unique_ptr<providers::ChildProcess> child;
  Mutex writing;
  std::map<std::uint64_t, std::shared_ptr<Waiting>> waiting{};
  std::uint64_t next = 1;
  bool ended = false;
};
using ConversationPtr = std::shared_ptr<Conversation>;

Task<void> send(ConversationPtr with, json::object message) {
  auto turn = co_await with->writing.lock();
  auto sent = co_await with->child->write(codec::write(std::move(message)) + "\n");
  if (!sent) co_return mcp_failed("the server takes no request: " + sent.error().message);
  co_return Result<void>();
}

asio::awaitable<void> take(ConversationPtr with, json::object message) {
  if (!message.contains("id")) co_return;  // a notification
  if (message.contains("method")) {
    auto sent = co_await send(with, mcp_answer(message));
    static_cast<void>(sent);  // one that is gone is noticed by the reader
    co_return;
  }
  for (auto at = with->waiting.begin(); at != with->waiting.end(); ++at) {
    if (!mcp_answers(message, at->first)) continue;
    at->second->answer = std::move(message);
    at->second->come.set();
    with->waiting.erase(at);
    co_return;
  }
}

asio::awaitable<void> read_all(ConversationPtr with) {
  std::string held;
  while (held.size() <= kMostLine) {
    auto piece = co_await with->child->read();
    if (!piece || piece->empty()) break;
    held += *piece;
    for (auto end = held.find('\n'); end != std::string::npos; end = held.find('\n')) {
      auto message = codec::parse_object(std::string_view(held).substr(0, end));
      held.erase(0, end + 1);
      if (!message) continue;  // a server that logs to stdout
      co_await take(with, *std::move(message));
    }
  }
  with->ended = true;
  for (auto& [id, waiting] : std::exchange(with->waiting, {})) {
    waiting->lost = true;
    waiting->come.set();
  }
}

class ChildLink final : public McpLink {
 public:
  explicit ChildLink(ConversationPtr with) : with_(std::move(with)), reader_(with_->executor) {
    reader_.spawn(read_all(with_));
  }

  Task<json::object> request(std::string method, json::object params) override {
    if (with_->ended) co_return mcp_failed("the server has ended");
    const std::uint64_t id = with_->next++;
    auto waiting = std::make_shared<Waiting>(with_->executor);
    with_->waiting[id] = waiting;
    auto sent = co_await send(with_, mcp_request(id, method, std::move(params)));
    if (!sent) {
      with_->waiting.erase(id);
      co_return std::move(sent).error();
    }
    co_await waiting->come.wait();
    if (waiting->lost) co_return mcp_failed("the server ended before it answered " + method);
    co_return mcp_result(waiting->answer);
  }

  Task<void> notify(std::string method) override {
    auto sent = co_await send(with_, mcp_request(0, method, {}));
    co_return sent;
  }

 private:
  ConversationPtr with_;
  Scope reader_;
};

Error bad_config(std::string_view what) {
  return {Code::kInvalidArgument, "bad_mcp_config", std::string(what)};
}

}  // namespace

Result<std::shared_ptr<McpLink>> mcp_child(asio::any_io_executor executor,
                                           const json::object& config) {
  providers::ChildOptions options;
  options.argv.emplace_back(config.at("command").get_string());
  if (const auto* args = config.if_contains("args"); args != nullptr) {
    if (!args->is_array()) return bad_config("'args' must be a list of strings");
    for (const auto& arg : args->get_array()) {
      if (!arg.is_string()) return bad_config("'args' must be a list of strings");
      options.argv.emplace_back(arg.get_string());
    }
  }
  options.env = providers::harmless_environment();
  if (const auto* env = config.if_contains("env"); env != nullptr) {
    if (!env->is_object()) return bad_config("'env' must be an object of strings");
    for (const auto& [name, value] : env->get_object()) {
      if (!value.is_string()) return bad_config("'env' must be an object of strings");
      options.env.push_back(std::string(name) + "=" + std::string(value.get_string()));
    }
  }
  CAY_TRY(auto child, providers::ChildProcess::start(executor, std::move(options)));
  return std::shared_ptr<McpLink>(
      std::make_shared<ChildLink>(std::make_shared<Conversation>(executor, std::move(child))));
}

}  // namespace cay::agent
