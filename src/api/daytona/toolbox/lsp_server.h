// Language servers: one command inside for each language and project. Its id follows from both, so
// each daemon finds it again.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "api/daytona/toolbox/request.h"
#include "async/mutex.h"
#include "model/command.h"

namespace cay::api::daytona {

struct LspPlace {
  std::string language;  // python, typescript or javascript
  std::string project;   // absolute
};

// The requests of all clients to all servers, in turn for each server.
class LspServers {
 public:
  // Starts a server, unless it runs, and introduces this client to it.
  Task<void> start(core::Cay& cay, Box box, LspPlace place);
  Task<void> stop(core::Cay& cay, Box box, LspPlace place);
  // Both fail LSP_SERVER_NOT_INITIALIZED before start(). A request that the server does not know
  // fails kUnsupported.
  Task<codec::json::value> request(core::Cay& cay, Box box, LspPlace place, std::string method,
                                   codec::json::object params);
  Task<void> notify(core::Cay& cay, Box box, LspPlace place, std::string method,
                    codec::json::object params);

 private:
  // A cache: where the next message begins in the server's output. 0 is right, too.
  struct Turn {
    explicit Turn(const asio::any_io_executor& loop) : busy(loop) {}
    Mutex busy;
    std::uint64_t offset = 0;
  };
  Task<std::shared_ptr<Turn>> turn_of(Box box, CommandId id);
  Task<CommandId> running(core::Cay& cay, Box box, LspPlace place);
  Task<codec::json::value> ask(core::Cay& cay, Box box, CommandId id, std::shared_ptr<Turn> turn,
                               std::string method, codec::json::object params);

  std::map<std::string, std::shared_ptr<Turn>> turns_;  // by sandbox and command
};

}  // namespace cay::api::daytona
