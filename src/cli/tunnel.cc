// cay tunnel: local ports that lead to services inside a sandbox, until it is ended.
#include <unistd.h>

#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/render.h"
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

}  // namespace

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

}  // namespace cay::cli
