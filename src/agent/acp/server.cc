#include "agent/acp/server.h"

#include <utility>

#include "agent/acp/updates.h"
#include "codec/base64.h"
#include "codec/lenient.h"

namespace cay::agent::acp {
namespace {

namespace json = codec::json;

constexpr int kProtocol = 1;

std::string text_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

const json::object* object_in(const json::object& from, std::string_view name) {
  const json::value* found = from.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

json::array servers_in(const json::object& params) {
  const json::value* found = params.if_contains("mcpServers");
  return found != nullptr && found->is_array() ? found->get_array() : json::array();
}

Error bad_prompt(const std::string& why) { return {Code::kInvalidArgument, "bad_prompt", why, 0}; }

Result<Block> image_of(const json::object& block) {
  const std::string mime = text_in(block, "mimeType");
  auto bytes = codec::from_base64(text_in(block, "data"));
  if (!mime.starts_with("image/")) return bad_prompt("an image needs a mimeType of image/…");
  if (!bytes || bytes->empty()) return bad_prompt("the data of an image is no base64");
  return Block(Media{mime, *std::move(bytes)});
}

Result<Block> block_of(const json::object& block, bool sees_images) {
  const std::string type = text_in(block, "type");
  if (type == "text") return Block(Text{text_in(block, "text")});
  if (type == "image" && sees_images) return image_of(block);
  if (type == "resource_link")
    return Block(Text{text_in(block, "name") + " (" + text_in(block, "uri") + ")"});
  const json::object* resource = object_in(block, "resource");
  if (type == "resource" && resource != nullptr)
    return Block(Text{text_in(*resource, "uri") + ":\n" + text_in(*resource, "text")});
  return bad_prompt("this agent takes no content of type " + (type.empty() ? "''" : type));
}

// The content blocks of a prompt. Text of a file that the editor passes stands behind its name.
Result<std::vector<Block>> blocks_of(const json::object& params, bool sees_images) {
  std::vector<Block> out;
  const json::value* prompt = params.if_contains("prompt");
  if (prompt != nullptr && prompt->is_array()) {
    for (const json::value& item : prompt->get_array()) {
      const json::object* block = item.if_object();
      if (block == nullptr) return bad_prompt("a content block is an object");
      CAY_TRY(auto read, block_of(*block, sees_images));
      out.push_back(std::move(read));
    }
  }
  if (out.empty()) return bad_prompt("the prompt is empty");
  return out;
}

json::object option(std::string_view id, std::string_view name, std::string_view kind) {
  return {{"optionId", id}, {"name", name}, {"kind", kind}};
}

}  // namespace

Server::Server(asio::any_io_executor loop, Sessions& sessions, ServerOptions options,
               std::function<void(std::string)> write)
    : sessions_(sessions),
      options_(std::move(options)),
      peer_(loop, std::move(write)),
      work_(loop) {}

asio::awaitable<void> Server::serve(Channel<std::string>& lines) {
  auto reading = take_lines(lines);
  co_await work_.until(std::move(reading));
}

asio::awaitable<void> Server::take_lines(Channel<std::string>& lines) {
  for (;;) {
    auto line = co_await lines.pop();
    if (!line) break;
    if (line->find_first_not_of(" \t\r") != std::string::npos) take(*line);
  }
  peer_.close();
}

void Server::take(const std::string& line) {
  const auto parsed = codec::parse(line);
  if (!parsed) {
    peer_.fail(nullptr, kParseError, parsed.error().message);
    return;
  }
  const json::object* message = parsed->if_object();
  if (message == nullptr) {
    peer_.fail(nullptr, kInvalidRequest, "a message is an object");
    return;
  }
  if (peer_.take_answer(*message)) return;
  const json::value* id = message->if_contains("id");
  const json::object* params = object_in(*message, "params");
  call(text_in(*message, "method"), id == nullptr ? json::value() : *id,
       params == nullptr ? json::object() : *params);
}

void Server::call(const std::string& method, json::value id, json::object params) {
  if (method == "initialize") {
    peer_.answer(id, initialize());
  } else if (method == "authenticate") {
    peer_.answer(id, json::object());
  } else if (method == "session/new") {
    work_.spawn(create(std::move(id), std::move(params)));
  } else if (method == "session/load") {
    work_.spawn(load(std::move(id), std::move(params)));
  } else if (method == "session/prompt") {
    prompt(id, params);
  } else if (method == "session/cancel") {
    cancel(params);
  } else if (!id.is_null()) {
    peer_.fail(id, kMethodNotFound, "there is no method " + method);
  }
}

json::object Server::initialize() const {
  return {
      {"protocolVersion", kProtocol},
      {"agentCapabilities",
       json::object{{"loadSession", true},
                    {"promptCapabilities", json::object{{"image", options_.sees_images},
                                                        {"audio", false},
                                                        {"embeddedContext", true}}},
                    {"mcpCapabilities", json::object{{"http", true}, {"sse", false}}}}},
      {"agentInfo", json::object{{"name", "cay"}, {"title", "Cay"}, {"version", options_.version}}},
      {"authMethods", json::array()}};
}

asio::awaitable<void> Server::create(json::value id, json::object params) {
  auto made = co_await sessions_.create(servers_in(params));
  if (!made) {
    fail(id, made.error());
    co_return;
  }
  open_[*made] = std::make_shared<Session>();
  peer_.answer(id, json::object{{"sessionId", *made}});
}

asio::awaitable<void> Server::load(json::value id, json::object params) {
  const std::string session = text_in(params, "sessionId");
  auto events = co_await sessions_.load(session, servers_in(params));
  if (!events) {
    fail(id, events.error());
    co_return;
  }
  open_[session] = std::make_shared<Session>();
  for (const ThreadEvent& event : *events) {
    for (json::object& one : former_updates_of(event)) update(session, std::move(one));
  }
  peer_.answer(id, json::object());
}

void Server::prompt(const json::value& id, const json::object& params) {
  const std::string name = text_in(params, "sessionId");
  const auto found = open_.find(name);
  auto blocks = blocks_of(params, options_.sees_images);
  if (found == open_.end()) {
    peer_.fail(id, kInvalidParams, "there is no session " + name);
  } else if (found->second->runs) {
    peer_.fail(id, kInvalidRequest, "a prompt of this session runs already");
  } else if (!blocks) {
    fail(id, blocks.error());
  } else {
    found->second->runs = true;
    found->second->cancelled = false;
    work_.spawn(run(id, name, found->second, *std::move(blocks)));
  }
}

asio::awaitable<void> Server::run(json::value id, std::string name,
                                  std::shared_ptr<Session> session, std::vector<Block> blocks) {
  auto running = sessions_.prompt(name, std::move(blocks), watch(name, session));
  auto ended = co_await std::move(running);
  session->runs = false;
  if (!ended && !session->cancelled) {
    fail(id, ended.error());
    co_return;
  }
  const std::string reason =
      session->cancelled || !ended ? std::string("cancelled") : stop_reason(*ended);
  peer_.answer(id, json::object{{"stopReason", reason}});
}

Watch Server::watch(const std::string& id, const std::shared_ptr<Session>& session) {
  auto streamed = std::make_shared<bool>(false);
  return {.on_event =
              [this, id, streamed](const ThreadEvent& event) {
                for (json::object& one : updates_of(event, *streamed)) update(id, std::move(one));
                if (event.type == "assistant_message") *streamed = false;
              },
          .on_delta =
              [this, id, streamed](const Delta& delta) {
                json::object one = update_of(delta);
                if (one.empty()) return;
                if (delta.kind == Delta::Kind::kText) *streamed = true;
                update(id, std::move(one));
              },
          .ask = [this, id, session](
                     std::vector<ToolCall> calls) { return ask(id, session, std::move(calls)); },
          .ask_network =
              [this, id](std::string question, std::string destination) {
                return ask_network(id, std::move(question), std::move(destination));
              }};
}

Task<std::vector<Permission>> Server::ask(std::string id, std::shared_ptr<Session> session,
                                          std::vector<ToolCall> calls) {
  std::vector<Permission> out;
  for (const ToolCall& call : calls) {
    auto asking = ask_one(id, session, call);
    auto permission = co_await std::move(asking);
    if (!permission) co_return std::move(permission).error();
    out.push_back(*permission);
  }
  co_return out;
}

Task<Permission> Server::ask_one(std::string id, std::shared_ptr<Session> session, ToolCall call) {
  if (session->allowed.covers(call)) co_return Permission::kGranted;
  json::array options{
      option("allow", "Allow", "allow_once"),
      option("always", codec::text(AllowedCalls::option_name(call)), "allow_always"),
      option("reject", "Reject", "reject_once")};
  auto asking = choice(std::move(id), tool_call(call), std::move(options));
  auto chosen = co_await std::move(asking);
  if (!chosen) co_return std::move(chosen).error();
  if (*chosen == "always") session->allowed.add(call);
  co_return *chosen == "allow" || *chosen == "always" ? Permission::kGranted : Permission::kRefused;
}

Task<NetworkPermission> Server::ask_network(std::string id, std::string question,
                                            std::string destination) {
  json::object call{{"toolCallId", "network-" + question},
                    {"title", "The sandbox wants to reach " + destination},
                    {"kind", "fetch"},
                    {"status", "pending"},
                    {"rawInput", json::object{{"destination", destination}}}};
  json::array options{option("allow", "Allow this connection", "allow_once"),
                      option("always", "Always allow " + destination, "allow_always"),
                      option("reject", "Refuse it", "reject_once")};
  auto asking = choice(std::move(id), std::move(call), std::move(options));
  auto chosen = co_await std::move(asking);
  if (!chosen) co_return std::move(chosen).error();
  if (*chosen == "always") co_return NetworkPermission::kAlways;
  co_return *chosen == "allow" ? NetworkPermission::kOnce : NetworkPermission::kRefused;
}

Task<std::string> Server::choice(std::string id, json::object call, json::array options) {
  json::object params{
      {"sessionId", id}, {"toolCall", std::move(call)}, {"options", std::move(options)}};
  auto asking = peer_.request("session/request_permission", std::move(params));
  auto answer = co_await std::move(asking);
  if (!answer) co_return std::move(answer).error();
  const json::object* result = answer->if_object();
  const json::object* outcome = result == nullptr ? nullptr : object_in(*result, "outcome");
  co_return outcome == nullptr ? std::string() : text_in(*outcome, "optionId");
}

void Server::cancel(const json::object& params) {
  const std::string id = text_in(params, "sessionId");
  const auto found = open_.find(id);
  if (found == open_.end() || !found->second->runs) return;
  found->second->cancelled = true;
  sessions_.cancel(id);
}

void Server::update(const std::string& id, json::object update) {
  peer_.notify("session/update", {{"sessionId", id}, {"update", std::move(update)}});
}

void Server::fail(const json::value& id, const Error& error) {
  int code = kInternalError;
  if (error.code == Code::kUnauthenticated) code = kAuthRequired;
  if (error.code == Code::kNotFound) code = kNotFound;
  if (error.code == Code::kInvalidArgument) code = kInvalidParams;
  peer_.fail(id, code, error.message + " (" + error.reason + ")");
}

}  // namespace cay::agent::acp
