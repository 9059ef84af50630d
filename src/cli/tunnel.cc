// cay tunnel: local ports that lead to services inside a sandbox, until it is ended.
#include <unistd.h>

#include <memory>
#include <vector>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/values.h"
#include "codec/json.h"

namespace cay::cli {
namespace {

std::string line_of(const sdk::Forward& forward, const std::string& sandbox, bool as_json) {
  const bool v6 = forward.address().find(':') != std::string::npos;
  const std::string host = v6 ? "[" + forward.address() + "]" : forward.address();
  const std::string local = host + ":" + std::to_string(forward.local_port());
  if (!as_json)
    return local + " -> " + printable(sandbox) + ":" + std::to_string(forward.remote_port()) + "\n";
  return codec::write(codec::json::object{{"local", local},
                                          {"local_port", forward.local_port()},
                                          {"remote_port", forward.remote_port()},
                                          {"sandbox", sandbox}}) +
         "\n";
}

int tunnel_command(Context& at, const TunnelArgs& args) {
  const auto sandbox = at.client.sandbox(args.sandbox);
  (void)sandbox.info();  // an unknown one fails here, not at the first connection
  std::vector<sdk::Forward> forwards;
  for (const auto& ports : args.ports) {
    sdk::ForwardOptions options;
    options.remote_port = ports.remote;
    options.local_port = ports.local;
    options.address = args.address;
    options.on_problem = [port = ports.remote](const std::string& sentence) {
      print_error("port " + std::to_string(port) + ": " + sentence);
    };
    forwards.push_back(sandbox.forward(options));
  }
  // Once all listen: who reads a line may connect.
  for (const auto& forward : forwards) print(line_of(forward, args.sandbox, at.json));
  for (;;) ::pause();  // a signal ends it, and what is open is broken off
}

}  // namespace

Command tunnel_entry() {
  struct State {
    TunnelArgs args;
    std::vector<std::string> ports;
  };
  const auto state = std::make_shared<State>();
  return {.name = "tunnel",
          .help = "Reach TCP services inside a sandbox by ports of this machine",
          .examples =
              "  cay tunnel box 5432                       then: psql -h 127.0.0.1\n"
              "  cay tunnel box 15432:5432 6379            several; 15432 here is 5432 inside\n"
              "  cay tunnel box 0:8080                     any free port here; it is printed\n\n"
              "Runs until it is ended (Ctrl-C). A connection wakes a stopped sandbox and keeps it "
              "awake.\n",
          .options =
              [state](Options& to) {
                to.needed("SANDBOX", state->args.sandbox, "Name or id");
                to.needed("PORTS", state->ports, "[LOCAL:]REMOTE; repeatable");
                to.text("--address", state->args.address,
                        "Address of this machine to listen on (default: 127.0.0.1); others let "
                        "other machines in, without a key");
              },
          .args = [state](const Line&) -> std::any {
            for (const auto& text : state->ports)
              state->args.ports.push_back(must(parse_ports(text), "PORTS"));
            return state->args;
          },
          .run = runs(tunnel_command)};
}

}  // namespace cay::cli
