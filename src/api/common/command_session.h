// CommandSession: one command on one WebSocket, whatever the frames look like. A facade derives
// from it and translates; the order of things is here.
//
// Three coroutines share the work. The pump sends the output, the control reads the client's
// frames, and the feeder writes stdin out of a queue. So a command that does not read its stdin
// cannot hold up a kill. Output waits for the socket: what is not sent stays in the spool.
//
// A client that goes away ends the session after its frames were obeyed. Input that waits is
// written even then, without a reader, for as long as the command runs.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/common/stdin_feed.h"
#include "core/cay.h"
#include "core/ports/runtime.h"
#include "core/verbs/commands.h"
#include "http/exchange.h"
#include "model/command.h"
#include "model/principal.h"

namespace cay::api {

class CommandSession {
 public:
  // `sandbox` is an id: a name may be given to another sandbox while the session lasts.
  CommandSession(core::Cay& cay, Principal who, SandboxId sandbox,
                 std::unique_ptr<http::WebSocket> socket, std::shared_ptr<InputRoom> room,
                 asio::any_io_executor executor);
  virtual ~CommandSession() = default;
  CommandSession(const CommandSession&) = delete;
  CommandSession& operator=(const CommandSession&) = delete;

  // Called with the command that it starts, or attaches to.
  std::function<void(const CommandId&)> on_command;

  // Runs until the client has the command's end, or has gone. The session must outlive it.
  asio::awaitable<void> run();

 protected:
  // From the client's first frame to a reader: starts or attaches.
  virtual Task<core::Reader> open(http::WsMessage first) = 0;
  // Sends the frame of the beginning.
  virtual Task<void> started(Command command) = 0;
  // Sends one event. The OutputEnd is the last.
  virtual Task<void> output(core::OutputEvent event) = 0;
  // Sends the error as the last frame. A failure of this is ignored: the client is gone.
  virtual Task<void> failed(Error error) = 0;
  // A later frame of the client's.
  virtual Task<void> message(http::WsMessage message) = 0;
  // Input came for a command that has ended or closed its stdin; the session goes on.
  virtual Task<void> stdin_refused(Error error) = 0;

  // Queues for the feeder; waits only beyond what a session may hold (stdin_feed.h).
  asio::awaitable<void> feed(Bytes bytes);
  void feed_end();
  Task<void> kill(int signal);
  Task<void> resize(PtySize size);

  core::Cay& cay_;
  const Principal who_;
  const std::string ref_;
  std::unique_ptr<http::WebSocket> socket_;

 private:
  asio::awaitable<void> converse();
  asio::awaitable<void> daemon_ends();
  asio::awaitable<void> pump();
  asio::awaitable<void> feeder();
  asio::awaitable<void> control();
  asio::awaitable<void> end_with(Error error);
  // Answers a message that is too long: an error first, for LangSmith's clients repeat after a bare
  // close.
  asio::awaitable<void> refuse_long(std::string why);

  asio::any_io_executor executor_;
  core::Reader reader_;
  CommandId id_;
  StdinFeed feed_;
  bool gone_ = false;  // the client
  Event fed_;          // the feeder is done
};

}  // namespace cay::api
