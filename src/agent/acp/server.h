// Server: the agent's side of the Agent Client Protocol, version 1, for editors. It reads JSON-RPC
// messages, a line each, and serves one connection.
//
// Source: agentclientprotocol.com, protocol version 1.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/acp/allowed_calls.h"
#include "agent/acp/peer.h"
#include "agent/acp/sessions.h"
#include "async/channel.h"
#include "async/scope.h"

namespace cay::agent::acp {

struct ServerOptions {
  std::string version;       // of this program
  bool sees_images = false;  // a prompt may have images
};

class Server {
 public:
  // `write` gets each message with its line break. `sessions` outlives the server.
  Server(asio::any_io_executor loop, Sessions& sessions, ServerOptions options,
         std::function<void(std::string)> write);

  // Serves until `lines` is closed, and cancels what runs then.
  asio::awaitable<void> serve(Channel<std::string>& lines);

 private:
  struct Session {
    bool runs = false;
    bool cancelled = false;
    AllowedCalls allowed{};
  };

  asio::awaitable<void> take_lines(Channel<std::string>& lines);
  void take(const std::string& line);
  void call(const std::string& method, codec::json::value id, codec::json::object params);
  codec::json::object initialize() const;
  asio::awaitable<void> create(codec::json::value id, codec::json::object params);
  asio::awaitable<void> load(codec::json::value id, codec::json::object params);
  void prompt(const codec::json::value& id, const codec::json::object& params);
  asio::awaitable<void> run(codec::json::value id, std::string name,
                            std::shared_ptr<Session> session, std::vector<Block> blocks);
  Watch watch(const std::string& id, const std::shared_ptr<Session>& session);
  Task<std::vector<Permission>> ask(std::string id, std::shared_ptr<Session> session,
                                    std::vector<ToolCall> calls);
  Task<NetworkPermission> ask_network(std::string id, std::string question,
                                      std::string destination);
  // Returns the id of the option that the editor's user chose. Empty: the question was cancelled.
  Task<std::string> choice(std::string id, codec::json::object tool_call,
                           codec::json::array options);
  Task<Permission> ask_one(std::string id, std::shared_ptr<Session> session, ToolCall call);
  void cancel(const codec::json::object& params);
  void update(const std::string& id, codec::json::object update);
  void fail(const codec::json::value& id, const Error& error);

  Sessions& sessions_;
  ServerOptions options_;
  Peer peer_;
  std::map<std::string, std::shared_ptr<Session>> open_;
  Scope work_;
};

}  // namespace cay::agent::acp
