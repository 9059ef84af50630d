// /mcp: MCP's streamable HTTP transport.
#include <algorithm>
#include <exception>

#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "api/common/audit_subjects.h"
#include "api/common/request_body.h"
#include "api/mcp/call_registry.h"
#include "api/mcp/event_feed.h"
#include "api/mcp/json_rpc.h"
#include "api/mcp/mcp.h"
#include "api/mcp/protocol.h"
#include "api/mcp/results.h"
#include "api/mcp/tool_limits.h"
#include "api/mcp/tools.h"
#include "async/scope.h"
#include "async/until_set.h"
#include "codec/model_json.h"
#include "core/answer_room.h"
#include "core/verbs/events.h"
#include "model/ids.h"

namespace cay::api {
namespace mcp {
namespace {

constexpr const char* kPath = "/mcp";
constexpr const char* kSession = "Mcp-Session-Id";
constexpr std::size_t kMostSession = 128;  // bytes of a session's id
constexpr std::size_t kMostBatch = 32;     // messages

// An error that arises before a message is read, or that has no message.
http::Response refusal(int status, const Error& error) {
  const json::object body = codec::to_json(error, note_error(error));
  const int code = status >= 500 ? kInternalError : kInvalidRequest;
  return json_answer(status,
                     error_message(nullptr, {.code = code,
                                             .message = error.message + " (" + error.reason + ")",
                                             .data = body}));
}

http::Response shaped(const http::RequestHead&, int status, const Error& error) {
  return refusal(status, error);
}

http::Response refused(const Error& error, const std::string&) {
  return refusal(api::status_of(error), error);
}

bool accepts(const http::RequestHead& head, std::string_view type) {
  const auto accept = head.headers.get("Accept");
  if (!accept) return type == "application/json";
  return accept->find(type) != std::string_view::npos ||
         accept->find("*/*") != std::string_view::npos;
}

// Session ids are visible ASCII. Cay makes UUIDs, and takes any that a client brings: a session has
// no state that it could lack.
Result<std::string> session_of(const http::RequestHead& head) {
  const std::string_view given = head.headers.get(kSession).value_or("");
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (given.size() > kMostSession || !std::ranges::all_of(given, is_visible))
    return invalid("invalid_session", "Mcp-Session-Id: must be 1 to 128 visible characters");
  return std::string(given);
}

Error scope_too_small(const Principal& who, const Tool& tool) {
  return {Code::kPermissionDenied, "scope_too_small",
          "the key '" + who.key_name + "' has the scope " + std::string(text_of(who.scope)) +
              ", which does not allow the tool " + std::string(tool.name),
          0};
}

// A call that was read and checked, so that only its work is left.
struct Ready {
  const Tool* tool = nullptr;
  Call call;
  json::value id;
  Dialect dialect;
  std::string session;
};
// A whole response, or a call.
using Prepared = std::variant<json::object, Ready>;

class Server {
 public:
  Server(core::Cay& cay, McpConfig config) : cay_(cay), config_(std::move(config)) {}

  Task<void> post(ExchangePtr exchange);
  Task<http::Response> end_session(ExchangePtr exchange);

 private:
  Task<void> answer_one(ExchangePtr exchange, Reading reading);
  Task<void> answer_batch(ExchangePtr exchange, json::array batch);
  Prepared prepare(const ExchangePtr& exchange, const Message& message, const Dialect& dialect,
                   const std::string& session);
  Prepared prepare_call(const ExchangePtr& exchange, const Message& message, const Dialect& dialect,
                        const std::string& session);
  void take_notification(const Principal& who, const Message& message, const Dialect& dialect,
                         const std::string& session);
  // Returns the response, or nothing if the client cancelled the call.
  asio::awaitable<std::optional<json::object>> carry_out(Ready ready);
  asio::awaitable<void> carry_out_into(Ready ready, std::shared_ptr<EventFeed> feed,
                                       std::shared_ptr<core::AnswerRoom::Part> part);
  asio::awaitable<void> set_at_end(Event& ends);
  Task<void> stream(ExchangePtr exchange, Ready ready);
  Task<void> respond(ExchangePtr exchange, int status, json::value body,
                     const std::string& session);

  core::Cay& cay_;
  const McpConfig config_;
  CallRegistry calls_;
};

Task<void> Server::respond(ExchangePtr exchange, int status, json::value body,
                           const std::string& session) {
  http::Response response = json_answer(status, body);
  if (!session.empty()) response.headers.set(kSession, session);
  auto room = find_room(cay_, *exchange, response);
  if (!room) co_return std::move(room).error();
  co_await exchange->respond(std::move(response));
  co_return Result<void>();
}

Task<void> Server::post(ExchangePtr exchange) {
  const http::RequestHead& head = exchange->head();
  if (!accepts(head, "application/json") && !accepts(head, "text/event-stream")) {
    co_await exchange->respond(
        refusal(406, invalid("not_acceptable", "Accept: must name application/json")));
    co_return Result<void>();
  }
  auto text = co_await read_request_body(exchange, kMostBody);
  if (!text) co_return std::move(text).error();
  auto body = codec::parse(*text);
  if (!body) {
    const RpcError wrong{.code = kParseError, .message = body.error().message};
    auto sent = co_await respond(exchange, 400, error_message(nullptr, wrong), "");
    co_return sent;
  }
  if (auto* batch = body->if_array()) {
    auto sent = co_await answer_batch(exchange, std::move(*batch));
    co_return sent;
  }
  auto sent = co_await answer_one(exchange, read_message(*body));
  co_return sent;
}

Task<void> Server::answer_one(ExchangePtr exchange, Reading reading) {
  auto session = session_of(exchange->head());
  if (!session) co_return std::move(session).error();
  const auto* message = std::get_if<Message>(&reading.got);
  auto dialect = dialect_of(exchange->head().headers, message);
  if (const auto* wrong = std::get_if<RpcError>(&dialect)) {
    auto sent = co_await respond(exchange, 400, error_message(reading.id, *wrong), "");
    co_return sent;
  }
  const Dialect& spoken = std::get<Dialect>(dialect);
  if (message == nullptr) {
    const RpcError& wrong = std::get<RpcError>(reading.got);
    const int status = reading.id.is_null() ? 400 : status_of(wrong.code, spoken);
    auto sent = co_await respond(exchange, status, error_message(reading.id, wrong), "");
    co_return sent;
  }
  if (message->kind != Message::Kind::kRequest) {
    take_notification(exchange->principal(), *message, spoken, *session);
    co_await exchange->respond(empty_answer(202));
    co_return Result<void>();
  }
  Prepared prepared = prepare(exchange, *message, spoken, *session);
  if (auto* ready = std::get_if<Ready>(&prepared)) {
    if (ready->tool->takes_long && accepts(exchange->head(), "text/event-stream")) {
      auto sent = co_await stream(exchange, std::move(*ready));
      co_return sent;
    }
    const json::value id = ready->id;
    auto response = co_await carry_out(std::move(*ready));
    if (!response)
      response = error_message(id, {.code = kRequestCancelled, .message = "Request cancelled"});
    auto sent = co_await respond(exchange, 200, *std::move(response), "");
    co_return sent;
  }
  auto& whole = std::get<json::object>(prepared);
  const json::value* error = whole.if_contains("error");
  const int status =
      error == nullptr ? 200 : status_of(static_cast<int>(error->at("code").as_int64()), spoken);
  const bool begins = message->method == "initialize" && error == nullptr;
  auto sent = co_await respond(exchange, status, std::move(whole), begins ? new_uuid() : "");
  co_return sent;
}

// One after the other: a request is one at work for its key, however many calls it has.
Task<void> Server::answer_batch(ExchangePtr exchange, json::array batch) {
  auto session = session_of(exchange->head());
  if (!session) co_return std::move(session).error();
  auto dialect = dialect_of(exchange->head().headers, nullptr);
  const auto* spoken = std::get_if<Dialect>(&dialect);
  if (spoken == nullptr || !spoken->allows_batches || batch.empty() || batch.size() > kMostBatch) {
    const RpcError wrong{.code = kInvalidRequest,
                         .message = "a batch is of version 2025-03-26 alone, and has 1 to " +
                                    std::to_string(kMostBatch) + " messages"};
    auto sent = co_await respond(exchange, 400, error_message(nullptr, wrong), "");
    co_return sent;
  }
  json::array out;
  for (const json::value& one : batch) {
    Reading reading = read_message(one);
    const auto* message = std::get_if<Message>(&reading.got);
    if (message == nullptr) {
      out.emplace_back(error_message(reading.id, std::get<RpcError>(reading.got)));
      continue;
    }
    if (message->kind != Message::Kind::kRequest) {
      take_notification(exchange->principal(), *message, *spoken, *session);
      continue;
    }
    Prepared prepared = prepare(exchange, *message, *spoken, *session);
    if (auto* whole = std::get_if<json::object>(&prepared)) {
      out.emplace_back(std::move(*whole));
      continue;
    }
    auto response = co_await carry_out(std::move(std::get<Ready>(prepared)));
    if (response) out.emplace_back(*std::move(response));
  }
  if (out.empty()) {
    co_await exchange->respond(empty_answer(202));
    co_return Result<void>();
  }
  auto sent = co_await respond(exchange, 200, std::move(out), "");
  co_return sent;
}

void Server::take_notification(const Principal& who, const Message& message, const Dialect& dialect,
                               const std::string& session) {
  // Without a session the id could be another client's that has the same key.
  if (dialect.stateless || session.empty() || message.method != "notifications/cancelled") return;
  const json::value* id = message.params.if_contains("requestId");
  if (id != nullptr && is_id(*id)) calls_.cancel(CallRegistry::name_of(who, session, *id));
}

Prepared Server::prepare(const ExchangePtr& exchange, const Message& message,
                         const Dialect& dialect, const std::string& session) {
  const auto result = [&](json::object of) {
    return result_message(message.id, in_dialect(std::move(of), dialect));
  };
  if (message.method == "tools/call") return prepare_call(exchange, message, dialect, session);
  if (message.method == "tools/list") {
    const json::value* cursor = message.params.if_contains("cursor");
    if (cursor == nullptr || cursor->is_null()) return result(listed_tools(exchange->principal()));
    return error_message(message.id, {.code = kInvalidParams,
                                      .message = "cursor: is not one of this list, which has one "
                                                 "page"});
  }
  if (message.method == "ping") return result({});
  if (message.method == "initialize" && !dialect.stateless)
    return result(initialized(message, config_.version));
  if (message.method == "server/discover" && dialect.stateless)
    return result(discovered(config_.version));
  return error_message(message.id, {.code = kMethodNotFound, .message = "Method not found"});
}

Prepared Server::prepare_call(const ExchangePtr& exchange, const Message& message,
                              const Dialect& dialect, const std::string& session) {
  const auto wrong = [&](std::string what) {
    return error_message(message.id, {.code = kInvalidParams, .message = std::move(what)});
  };
  const json::value* name = message.params.if_contains("name");
  if (name == nullptr || !name->is_string()) return wrong("name: must be the name of a tool");
  const json::string& text = name->get_string();
  const Tool* tool = find_tool({text.data(), text.size()});
  if (tool == nullptr) {
    return wrong("name: there is no tool '" +
                 std::string(text.data(), std::min<std::size_t>(text.size(), kMostName)) +
                 "': tools/list names them");
  }
  json::object arguments;
  if (const json::value* given = message.params.if_contains("arguments");
      given != nullptr && !given->is_null()) {
    if (!given->is_object()) return wrong("arguments: must be an object");
    arguments = given->get_object();
  }
  if (auto what = wrong_with(arguments, tool->params); !what.empty()) return wrong(std::move(what));
  if (!allows(exchange->principal().scope, tool->right)) {
    json::object refused = error_result(scope_too_small(exchange->principal(), *tool));
    return result_message(message.id, in_dialect(std::move(refused), dialect));
  }
  Ready out;
  out.tool = tool;
  out.call.cay = &cay_;
  out.call.names = config_.names;
  out.call.exchange = exchange;
  out.call.arguments = Arguments(std::move(arguments));
  out.id = message.id;
  out.dialect = dialect;
  out.session = session;
  out.call.progress_token = progress_token_of(message);
  const std::string sandbox = out.call.sandbox();
  exchange->note_subject("tool " + std::string(tool->name) +
                         (sandbox.empty() ? "" : " of sandbox " + path_subject(sandbox)));
  return out;
}

asio::awaitable<void> Server::set_at_end(Event& ends) {
  co_await cay_.events().until_ended();
  ends.set();
}

asio::awaitable<std::optional<json::object>> Server::carry_out(Ready ready) {
  const auto loop = co_await asio::this_coro::executor;
  Event stop(loop);
  Scope watching(loop);
  watching.spawn(set_at_end(stop));
  std::unique_ptr<CallRegistry::Place> place;
  if (!ready.session.empty() && !ready.dialect.stateless) {
    place = calls_.add(CallRegistry::name_of(ready.call.who(), ready.session, ready.id), stop);
  }
  const Error cut{Code::kUnavailable, "shutting_down",
                  "the daemon is ending: call the tool again when it is back", 0};
  auto work = ready.tool->function(ready.call);
  auto cut_short = until_set(std::move(work), stop, cut);
  auto got = co_await watching.until(std::move(cut_short));
  if (!got && stop.is_set() && !cay_.events().ended()) co_return std::nullopt;
  json::object result = got ? *std::move(got) : error_result(got.error());
  co_return result_message(ready.id, in_dialect(std::move(result), ready.dialect));
}

asio::awaitable<void> Server::carry_out_into(Ready ready, std::shared_ptr<EventFeed> feed,
                                             std::shared_ptr<core::AnswerRoom::Part> part) {
  const json::value id = ready.id;
  std::exception_ptr failure;
  try {
    auto response = co_await carry_out(std::move(ready));
    std::string text = response ? codec::write(*response) : std::string();
    part->hold(text.size());
    feed->finish(std::move(text));
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure || is_cancellation(failure)) co_return;
  const std::string error_id = new_uuid();
  spdlog::error("error_id={} a tool of /mcp failed with an exception", error_id);
  feed->finish(codec::write(error_message(
      id,
      {.code = kInternalError, .message = "Cay failed: see error " + error_id + " in its log"})));
}

Task<void> Server::stream(ExchangePtr exchange, Ready ready) {
  const auto loop = co_await asio::this_coro::executor;
  auto feed = std::make_shared<EventFeed>(loop, ready.call.progress_token);
  ready.call.feed = feed;
  http::Headers headers;
  headers.add("Content-Type", "text/event-stream");
  headers.add("Cache-Control", "no-store");
  headers.add("X-Accel-Buffering", "no");
  const auto part = cay_.answers().begin(exchange->principal().tenant);
  Scope work(loop);
  work.spawn(carry_out_into(std::move(ready), feed, part));
  auto sending =
      exchange->respond_stream(200, std::move(headers), std::nullopt, EventFeed::source_of(feed));
  // A client that leaves cancels this, and so the call.
  co_await work.until(std::move(sending));
  co_return Result<void>();
}

Task<http::Response> Server::end_session(ExchangePtr exchange) {
  auto session = session_of(exchange->head());
  if (!session) co_return std::move(session).error();
  if (session->empty()) co_return invalid("invalid_session", "Mcp-Session-Id: is needed");
  calls_.end_session(exchange->principal(), *session);
  co_return empty_answer(204);
}

}  // namespace
}  // namespace mcp

void add_mcp_routes(http::Router& router, core::Cay& cay, McpConfig config) {
  // Its clients send Authorization: Bearer or X-Api-Key, which is Cay's own rule.
  router.declare({.prefixes = {mcp::kPath}, .refusal = mcp::shaped});
  const auto server = std::make_shared<mcp::Server>(cay, std::move(config));
  router.add("POST", mcp::kPath,
             streaming([server](ExchangePtr exchange) { return server->post(std::move(exchange)); },
                       mcp::refused),
             Right::kReadOne);
  router.add(
      "DELETE", mcp::kPath,
      answering(
          cay, [server](ExchangePtr exchange) { return server->end_session(std::move(exchange)); },
          mcp::refused),
      Right::kReadOne);
  // A tool needs a right of its own.
  router.each([](http::Route& route) { route.acts_by_scope |= route.pattern == mcp::kPath; });
}

}  // namespace cay::api
