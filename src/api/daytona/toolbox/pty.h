// Terminals: a command of core's with a terminal each, which is found again by its mark.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/daytona/toolbox/request.h"
#include "model/command.h"

namespace cay::api::daytona {

struct PtySpec {
  std::string id;
  std::string cwd;
  std::map<std::string, std::string> envs;
  PtySize size;
  bool lazy = false;  // shown alone: its output waits for the first client anyway
};

// One line, from which pty_from_mark() reads.
std::string pty_mark(const PtySpec& spec);
// nullopt: the command is no terminal of this facade's.
std::optional<PtySpec> pty_from_mark(std::string_view mark);
CommandId pty_command_id(std::string_view id);

// Starts it. Fails CONFLICT if one with this id runs.
Task<Command> start_pty(core::Cay& cay, Box box, PtySpec spec);
// One that runs or ended a while ago. Fails PROCESS_NOT_FOUND.
Task<Command> find_pty(core::Cay& cay, Box box, std::string id);

Task<http::Response> create_pty(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> list_ptys(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> get_pty(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> resize_pty(core::Cay& cay, ExchangePtr exchange);
Task<http::Response> delete_pty(core::Cay& cay, ExchangePtr exchange);
// WebSockets. The first makes the terminal.
Task<void> create_connect_pty(core::Cay& cay, ExchangePtr exchange);
Task<void> connect_pty(core::Cay& cay, ExchangePtr exchange);

}  // namespace cay::api::daytona
