// CommandStream: one reader of one command over a WebSocket that is made again when it breaks.
// Every byte of each stream comes once, in order. A start that is repeated does not run twice,
// because the client makes its id, and the daemon starts one command for each id.
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "client/command_events.h"
#include "client/connection.h"

namespace cay::client {

class CommandStream {
 public:
  // `spec`: the body of command_body(); its id is set if it has none. `wait_s`: above 0, the start
  // itself waits so long for the end, and the socket is opened if it does not come.
  static Task<std::unique_ptr<CommandStream>> start(Connection& connection, std::string ref,
                                                    json::object spec, double wait_s = 0);
  static Task<std::unique_ptr<CommandStream>> attach(Connection& connection, std::string ref,
                                                     std::string id, sdk::Offsets from);

  const std::string& id() const { return id_; }
  const std::string& ref() const { return ref_; }     // as the caller named the sandbox
  const std::string& sandbox() const { return at_; }  // its id
  const sdk::CommandInfo& started() const { return started_; }

  // Errors: kOutOfRange after the End; kUnavailable once nothing moved for reconnect_for_s;
  // kLost "stream_hole" if the daemon skipped bytes (a bug of its own, never hidden).
  Task<sdk::Event> next();

  // Beside the socket, as requests of their own, so that each is known to have arrived or not.
  Task<void> write_stdin(std::string bytes);
  Task<void> close_stdin();
  Task<void> kill(int signal);
  Task<void> resize(sdk::TerminalSize size);

 private:
  CommandStream(Connection& connection, std::string ref)
      : connection_(connection), ref_(std::move(ref)) {}

  // Finds out which sandbox is meant, and begins there.
  Task<void> begin(double wait_s = 0);
  // Opens the socket, sends start or attach, and waits for `started`.
  Task<void> connect();
  Task<void> connect_once();
  // Repeats a request that never reached the daemon until reconnect_for_s have passed.
  Task<void> post(std::string rest, std::string body);

  Connection& connection_;
  std::string ref_;
  std::string at_;  // the sandbox's id: names may be given away while a command runs
  std::string id_;
  json::object spec_;             // of start(); empty for attach()
  bool confirmed_ = false;        // `started` came once: from then on reconnects attach
  std::string last_end_;          // how the last connection ended, in words
  std::deque<sdk::Event> ready_;  // of an answer that had the end
  bool over_ = false;             // its End was given
  CommandEvents events_;
  sdk::CommandInfo started_;
  std::unique_ptr<http::WebSocket> socket_;
};

// True if trying again later may help, and did no harm.
bool worth_a_retry(const Error& error);
// Words for a command of the sandbox `ref` whose answer or stream was lost: how to reach it.
std::string may_still_run(const std::string& ref, const std::string& id);

}  // namespace cay::client
